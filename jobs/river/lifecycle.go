package river

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postbus/postbus/internal/tracing"
)

const (
	// Handlers that ignore the end of their context are given up after this, and their jobs given back.
	giveUpAfter = 5 * time.Second
	// River tries three times to resign as leader, 1 to 3 s each, with pauses in between.
	resignTimeout = 15 * time.Second
	// flushTimeout bounds the last records of a Stop whose ctx has ended.
	flushTimeout = 5 * time.Second
)

// Start begins to fetch and run jobs. The end of ctx does not stop it: Stop does.
func (r *Runtime) Start(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started {
		return nil
	}
	if err := r.pool.Ping(ctx); err != nil {
		return fmt.Errorf("start jobs: %w", err)
	}
	if r.ownsSelf {
		if err := r.self.Start(ctx); err != nil {
			return err
		}
	}
	if err := errors.Join(r.clock.declare(ctx), r.mirror.declare(ctx)); err != nil {
		return err
	}
	running := tracing.Detach(context.WithoutCancel(ctx)) // no job is part of the start
	r.waiters.open()
	r.started = true
	r.waker.start(running)
	r.mirror.ticker.Start(running)
	if r.client == nil {
		return nil
	}
	r.settler.start(running)
	if err := r.client.Start(running); err != nil {
		r.started = false
		r.waker.stop()
		r.mirror.ticker.Stop()
		return errors.Join(fmt.Errorf("start River: %w", err), r.settler.stop(ctx))
	}
	r.reaper.ticker.Start(running)
	r.clock.ticker.Start(running)
	return nil
}

// Stop stops fetching, lets running jobs finish within the grace period, then cancels their contexts and gives them back.
// Where ctx ends first, it cancels them then. An error names the kinds whose handlers did not return.
func (r *Runtime) Stop(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.started {
		r.waiters.close()
		return nil
	}
	r.started = false
	r.clock.ticker.Stop()
	r.mirror.ticker.Stop()
	stuck := r.land(ctx)
	r.reaper.ticker.Stop()

	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	err := errors.Join(stuck, r.settler.stop(flush))
	r.waiters.close()
	r.waker.stop()
	if r.ownsSelf {
		err = errors.Join(err, r.self.Stop(flush))
	}
	return err
}

// land waits for the handlers, and gives back the jobs of those that do not return.
func (r *Runtime) land(ctx context.Context) error {
	if r.client == nil {
		return nil
	}
	patience, cancel := context.WithTimeout(ctx, r.cfg.StopGrace+giveUpAfter)
	defer cancel()
	if r.client.Stop(patience) == nil {
		return nil
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if r.client.StopAndCancel(last) == nil {
		return nil
	}
	var kinds []string
	for _, run := range r.flights.unreturned() {
		r.settler.add(outcome{runKey: run.runKey, attempt: run.attempt, verdict: interrupted})
		if !slices.Contains(kinds, run.kind) {
			kinds = append(kinds, run.kind)
		}
	}
	if len(kinds) > 0 {
		slices.Sort(kinds)
		return fmt.Errorf("stop jobs: handlers of %s have not returned; their jobs are given back", strings.Join(kinds, ", "))
	}
	// The handlers are back: what River still does is to resign as leader, which waits for the database.
	patience, cancel = context.WithTimeout(ctx, resignTimeout)
	defer cancel()
	if err := r.client.Stop(patience); err != nil {
		return fmt.Errorf("stop River: %w", err)
	}
	return nil
}
