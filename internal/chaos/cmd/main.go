package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/postbus/postbus/internal/chaos"
)

func main() {
	chaos.Child()
	minutes := flag.Float64("minutes", 1, "how long faults come")
	seed := flag.Uint64("seed", 1, "decides the plan and the writers")
	plant := flag.String("plant", "", "a fault to put into the product: cursor, mark, rescue, drop or unlock")
	rate := flag.Int("rate", 0, "business transactions a second (default 40)")
	dir := flag.String("dir", "", "where the report goes (default bin/chaos-SEED)")
	clock := flag.Bool("clock", true, "build a program whose clock is off, too: the first time it takes a minute or two")
	patience := flag.Duration("patience", 0, "how long the end may stand still (default 2m30s)")
	verbose := flag.Bool("v", false, "tell of every fault")
	flag.Parse()
	if *verbose {
		slog.SetLogLoggerLevel(slog.LevelDebug)
	}
	if *dir == "" {
		*dir = filepath.Join("bin", fmt.Sprintf("chaos-%d%s", *seed, *plant))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := chaos.Run(ctx, chaos.Config{
		Duration: time.Duration(*minutes * float64(time.Minute)), Seed: *seed, Plant: *plant, Rate: *rate, Dir: *dir, Clock: *clock, Patience: *patience,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if err := r.Print(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	fmt.Printf("\n%s has report.json, timeline.svg and what the processes said\n", *dir)
	if !r.OK() {
		os.Exit(1)
	}
}
