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

const usage = `notebook: notes in Postgres, searchable within milliseconds of their commit

  notebook demo [--once] [--import DIR] [--listen ADDR] [--data DIR] [--database-url URL] [--search-url URL] [--timeout D]
                [--receipt-wait D] [--verbose]
  notebook search --listen ADDR --data DIR [--verbose]

Run "notebook demo -h" or "notebook search -h" for what the flags mean.
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
		return usageError{errors.New("say what to do: demo or search")}
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
	case "help", "-h", "--help":
		fmt.Fprint(out, usage)
		return nil
	default:
		return usageError{fmt.Errorf("there is no command %q: use demo or search", command)}
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
