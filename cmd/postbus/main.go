package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	opscli "github.com/postbus/postbus/ops/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	os.Exit(run(ctx, os.Args[1:]))
}

// run answers the exit status.
func run(ctx context.Context, args []string) int {
	root, err := newRoot(os.Environ())
	if err == nil {
		root.SetArgs(args)
		err = root.ExecuteContext(ctx)
	}
	return opscli.Report(os.Stderr, err)
}
