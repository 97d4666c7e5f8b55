package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

const usage = `notebook: notes in Postgres, searchable within milliseconds of their commit, published by webhooks

Try "notebook demo": write a note, publish it, and see the webhook arrive at the receiver, a process beside it. Kill that
process, edit the note, and see the delivery fail, be tried again and arrive.

  notebook demo [--once] [--import DIR] [--publish=false] [--listen ADDR] [--data DIR] [--database-url URL] [--search-url URL]
                [--receiver-url URL] [--timeout D] [--receipt-wait D] [--verbose]
  notebook search --listen ADDR --data DIR [--verbose]
  notebook receive --listen ADDR (--secret-file FILE | --secret whsec_…) [--data DIR] [--quiet] [--verbose]

Run "notebook demo -h", "notebook search -h" or "notebook receive -h" for what the flags mean.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// usageError is a call that can never work as it is.
type usageError struct{ error }

// errHelp says that help was asked for, and has been given.
var errHelp = errors.New("help")

// run answers the exit status.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	err := dispatch(ctx, args, out, errs)
	var wrong usageError
	switch {
	case err == nil, errors.Is(err, errHelp):
		return 0
	case errors.As(err, &wrong):
		fmt.Fprintln(errs, "notebook:", oneLine(err))
		return 2
	}
	fmt.Fprintln(errs, "notebook:", oneLine(err))
	return 1
}

func dispatch(ctx context.Context, args []string, out, errs io.Writer) error {
	if len(args) == 0 {
		fmt.Fprint(errs, usage)
		return usageError{errors.New("say what to do: demo, search or receive")}
	}
	switch command := args[0]; command {
	case "demo":
		opts, err := parseDemo(args[1:], errs)
		if err != nil {
			return err
		}
		return demo(ctx, opts, out, newLog(errs, opts.verbose))
	case "search":
		opts, err := parseSearch(args[1:], errs)
		if err != nil {
			return err
		}
		return serveSearch(ctx, opts, out, newLog(errs, opts.verbose))
	case "receive":
		opts, err := parseReceive(args[1:], errs)
		if err != nil {
			return err
		}
		return receive(ctx, opts, out, newLog(errs, opts.verbose))
	case "help", "-h", "--help":
		fmt.Fprint(out, usage)
		return nil
	default:
		return usageError{fmt.Errorf("there is no command %q: use demo, search or receive", command)}
	}
}

func newLog(errs io.Writer, verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(errs, &slog.HandlerOptions{Level: level}))
}

// oneLine is an error without its line breaks.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
