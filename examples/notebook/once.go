package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/examples/notebook/indexing"
	"github.com/postbus/postbus/examples/notebook/publishing"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/webhooks"
)

// settlePoll is the time between two looks at what is still to be done.
const settlePoll = 50 * time.Millisecond

// once is notebook demo --once: it fails unless every note can be found and the webhook of every published one has arrived.
func once(ctx context.Context, o demoOptions, out io.Writer, log *slog.Logger) error {
	a, err := openApp(ctx, o, out, log)
	if err != nil {
		return err
	}
	defer a.close()
	a.announce(out, "")
	since, err := a.notes.Now(ctx)
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := a.importFolder(ctx, out); err != nil {
		return err
	}
	imported := time.Since(begun)
	if err := a.settle(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "took      %s to import, %s until the index and the receiver were up to date\n",
		imported.Round(time.Millisecond), time.Since(begun).Round(time.Millisecond))
	if err := a.report(ctx, out, since); err != nil {
		return err
	}
	return errors.Join(a.findAll(ctx, out), a.checkWebhooks(ctx, out, since))
}

// settle waits until nothing of the notebook's is left to do.
func (a *app) settle(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, a.opts.timeout)
	defer cancel()
	for left := "nobody looked yet"; ; {
		now, err := a.unfinished(wait)
		switch {
		case err == nil && now == "":
			return nil
		case err == nil:
			left = now
		case wait.Err() == nil:
			return err
		}
		if loop.Sleep(wait, settlePoll) != nil {
			return errors.Join(fmt.Errorf("after %s still to be done: %s; they stay queued for the next run", a.opts.timeout, left), ctx.Err())
		}
	}
}

// unfinished says what is still to be done, "" where nothing is. Events come first: what leaves them becomes jobs.
func (a *app) unfinished(ctx context.Context) (string, error) {
	page, err := a.bus.Events().List(ctx, events.Filter{Types: []string{indexing.Changed, publishing.Published}, Status: events.Pending, Limit: 1})
	if err != nil {
		return "", err
	}
	if len(page.Events) > 0 {
		return "events that wait for the relay", nil
	}
	for _, kind := range []string{indexing.Index, indexing.Reconcile, webhooks.Fanout} {
		overview, err := a.bus.Inspector().Overview(ctx, kind)
		if err != nil {
			return "", err
		}
		c := overview.Kinds[kind]
		if n := c.Pending.N + c.Running.N + c.Retryable.N; n > 0 {
			return fmt.Sprintf("%d jobs of %s (%d of them failed and try again: is the search service up?)", n, kind, c.Retryable.N), nil
		}
	}
	return a.undelivered(ctx)
}
