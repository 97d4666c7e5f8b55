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
	// long groups take minutes even in a quick run, which has them only where they are asked for.
	long bool
}

func groups() []group {
	var all []group
	for _, n := range []int{1, 8, 32} {
		all = append(all, writerTax(n))
	}
	for _, n := range []int{1, 8, 32} {
		all = append(all, wholeBus(n))
	}
	all = append(all, fanout(), pinned(), handlerIdle(), handlerBusy(), receipt(), bulk(), idle())
	for _, n := range []int{1, 8, 32} {
		all = append(all, webhookDrain(n))
	}
	for _, n := range []int{1, 8, 32} {
		all = append(all, claim(n))
	}
	return append(all, webhookRate(8), webhookRate(32), webhookLatency(), webhookFairness(1, 10), webhookFairness(10, 100), webhookBytes(), reads(),
		peersHandled(), peersQueue(), peersTax(), peersLatency(), growth(), limits())
}

// choose keeps the groups with a figure that matches.
func choose(all []group, match *regexp.Regexp) []group {
	return slices.DeleteFunc(all, func(g group) bool { return !slices.ContainsFunc(g.figures, match.MatchString) })
}

// named answers "prefix_n".
func named(prefix string, n int) string { return fmt.Sprintf("%s_%d", prefix, n) }
