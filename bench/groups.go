package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/rig"
)

// group measures figures that share their preparation, or that must be of the same rounds.
type group struct {
	name    string
	figures []string
	measure func(ctx context.Context, b *bench, db *rig.Database) ([]figure.Figure, error)
}

func groups() []group {
	var all []group
	for _, n := range []int{1, 8, 32} {
		all = append(all, writerTax(n))
	}
	for _, n := range []int{1, 8, 32} {
		all = append(all, wholeBus(n))
	}
	return append(all, fanout(), pinned(), handlerIdle(), handlerBusy(), receipt(), bulk(), idle())
}

// choose keeps the groups with a figure that matches.
func choose(all []group, match *regexp.Regexp) []group {
	return slices.DeleteFunc(all, func(g group) bool { return !slices.ContainsFunc(g.figures, match.MatchString) })
}

// named answers "prefix_n".
func named(prefix string, n int) string { return fmt.Sprintf("%s_%d", prefix, n) }
