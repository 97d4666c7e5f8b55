package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/rig"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures what the arguments ask for. Figures go to out as they are done, what is going on to progress.
func run(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	quick := flags.Bool("quick", quickByEnv(), "run everything briefly, in two minutes; QUICK=1 in the environment does the same")
	pairs := flags.Int("pairs", 0, "interleaved pairs a ratio (default 5, with -quick 2)")
	pinned := flags.Duration("pinned", 0, "how long xmin is pinned beside peers (default 1m, with -quick 2s)")
	only := flags.String("only", "", "measure only the figures whose names match this regular expression")
	profile := flags.String("cpuprofile", "", "write a CPU profile of this process, bus and writers alike, to the file")
	pageFile := flags.String("page", "", "write this page from the values in -out, and measure nothing")
	file := flags.String("out", "results/latest.json", "where the values are kept")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *pageFile != "" {
		return writePage(*file, *pageFile)
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	plan := fullPlan()
	if *quick {
		plan = quickPlan()
	}
	plan.pairs, plan.pinned = cmp.Or(*pairs, plan.pairs), cmp.Or(*pinned, plan.pinned)
	chosen := choose(groups(), match)
	if plan.quick && *only == "" {
		chosen = slices.DeleteFunc(chosen, func(g group) bool { return g.long })
	}
	if len(chosen) == 0 {
		return fmt.Errorf("-only %q matches no figure", *only)
	}
	server, err := rig.Start(ctx)
	if err != nil {
		return err
	}
	stopProfile, err := profiling(*profile)
	if err != nil {
		return errors.Join(err, server.Stop())
	}
	defer stopProfile()
	b := &bench{server: server, plan: plan, out: out, progress: progress, match: match, load: loadAverage()}
	return errors.Join(b.all(ctx, chosen, *file), server.Stop())
}

// profiling begins a CPU profile where a file is named.
func profiling(name string) (stop func(), err error) {
	if name == "" {
		return func() {}, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("-cpuprofile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(fmt.Errorf("-cpuprofile: %w", err), file.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = file.Close()
	}, nil
}

func quickByEnv() bool {
	value := os.Getenv("QUICK")
	return value != "" && value != "0"
}

// bench is one run.
type bench struct {
	server        *rig.Server
	plan          plan
	out, progress io.Writer
	match         *regexp.Regexp
	load          string // of the machine before the run
	figures       []figure.Figure
}

// all measures the groups one after the other. A group that fails does not keep the others from their turn.
func (b *bench) all(ctx context.Context, chosen []group, file string) error {
	began := time.Now()
	var failed []error
	for _, g := range chosen {
		if ctx.Err() != nil {
			return errors.Join(append(failed, ctx.Err())...)
		}
		if err := b.one(ctx, g); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", g.name, err))
			b.say("%s failed: %v", g.name, err)
		}
	}
	return errors.Join(append(failed, b.keep(ctx, file, began))...)
}

// one measures a group in a database of its own.
func (b *bench) one(ctx context.Context, g group) error {
	b.say("%s ...", g.name)
	began := time.Now()
	db, err := b.server.Database(ctx, "bench_"+g.name)
	if err != nil {
		return err
	}
	figures, err := g.measure(ctx, b, db)
	if err := errors.Join(err, b.server.Drop(context.WithoutCancel(ctx), db)); err != nil {
		return err
	}
	for _, f := range figures {
		if b.match.MatchString(f.Name) {
			b.figures = append(b.figures, f)
			fmt.Fprintln(b.out, f.Line())
		}
	}
	b.say("%s took %.1f s", g.name, time.Since(began).Seconds())
	return nil
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.progress, "# "+format+"\n", args...)
}
