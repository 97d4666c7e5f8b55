package river

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	riverqueue "github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/postbus/postbus/internal/tracing"
	"github.com/postbus/postbus/jobs"
)

var (
	errTimeout   = errors.New("timed out")
	errTakenBack = errors.New("the run exceeded its kind's timeout and was given to another")
)

// runner runs handlers. It is River's outermost middleware and never calls the next: args are not decoded by River,
// and what River would record is left out by the pilot.
type runner struct {
	riverqueue.MiddlewareDefaults
	kinds   map[string]*kind
	flights *flights
	settler *settler
	trace   func(ctx context.Context, traceparent string) context.Context
	tracing *tracing.Tracer
	log     *slog.Logger
}

var _ rivertype.WorkerMiddleware = (*runner)(nil)

// Work runs one job and hands its outcome to the settler, whatever the handler does.
func (r *runner) Work(ctx context.Context, row *rivertype.JobRow, _ func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	run := r.flights.begin(row, cancel)
	defer cancel(nil)

	ended, began := outcome{runKey: run.runKey, attempt: row.Attempt, kind: row.Kind, waited: waited(row)}, time.Now()
	defer func() { // also where the handler ends its goroutine
		r.flights.returned(run)
		ended.ran = time.Since(began)
		r.settler.add(ended)
	}()
	k, ok := r.kinds[row.Kind]
	if !ok { // the pilot fetches declared kinds only
		ended.verdict, ended.err, ended.wait = failed, "kind "+row.Kind+" is not declared here", jobs.DefaultBackoff(row.Attempt)
		return nil
	}
	ended.receipt = k.Receipt
	ended.verdict, ended.err = failed, "the handler ended its goroutine"
	r.call(ctx, k, row, &ended)
	if ended.verdict == failed && row.Attempt < row.MaxAttempts {
		ended.wait = r.backoff(ctx, k, row)
	}
	return nil
}

// backoff asks the kind for the wait; one that panics has the default.
func (r *runner) backoff(ctx context.Context, k *kind, row *rivertype.JobRow) (wait time.Duration) {
	defer func() {
		if value := recover(); value != nil {
			r.log.ErrorContext(ctx, "backoff panicked", "kind", k.Name, "attempt", row.Attempt, "panic", value)
			wait = jobs.DefaultBackoff(row.Attempt)
		}
	}()
	return k.Backoff(row.Attempt)
}

// call runs the handler and notes how it ended.
func (r *runner) call(ctx context.Context, k *kind, row *rivertype.JobRow, ended *outcome) {
	var span tracing.Span
	defer func() { span.EndJob(ended.verdict, ended.fault()) }() // the last: it sees what a panic came to
	defer func() {
		if value := recover(); value != nil {
			ended.verdict, ended.err, ended.trace = failed, fmt.Sprintf("panic: %v", value), string(debug.Stack())
			r.log.ErrorContext(ctx, "handler panicked", "job", row.ID, "kind", k.Name, "attempt", row.Attempt,
				"panic", storable(ended.err, 1000), "stack", ended.trace)
		}
	}()
	args, meta := json.RawMessage(row.EncodedArgs), metadata{}
	if len(row.Metadata) > len("{}") {
		_ = json.Unmarshal(row.Metadata, &meta) // what is foreign in it is not ours to refuse
	}
	if meta.Args != "" {
		args = json.RawMessage(meta.Args)
	}
	ctx, span = r.traced(ctx, k, row, meta.Trace)
	if k.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, k.Timeout, errTimeout)
		defer stop()
	}
	box := jobs.ResultBox{ID: jobID(row.ID)}
	r.judge(ctx, k, row, k.Handle(jobs.WithResult(ctx, &box), args), ended)
	ended.result = string(box.Result())
}

// traced answers ctx in the trace that the job carries.
func (r *runner) traced(ctx context.Context, k *kind, row *rivertype.JobRow, stored string) (context.Context, tracing.Span) {
	switch {
	case stored == "":
		return ctx, tracing.Span{}
	case r.trace != nil:
		ctx = r.trace(ctx, stored)
		if r.tracing == nil {
			return ctx, tracing.Span{}
		}
	}
	return r.tracing.Job(ctx, stored, tracing.Run{
		ID: string(jobID(row.ID)), Kind: k.Name, Queue: shownQueue(row.Queue), Attempt: int(row.Attempt), MaxAttempts: int(row.MaxAttempts),
	})
}

// judge decides what a handler's answer means. Whether attempts are left, and whether a cancel was asked for, is decided
// where the outcome is recorded.
func (r *runner) judge(ctx context.Context, k *kind, row *rivertype.JobRow, err error, ended *outcome) {
	cause := context.Cause(ctx)
	snooze, snoozed := jobs.SnoozedFor(err)
	switch {
	case err == nil:
		ended.verdict, ended.err = completed, ""
	case jobs.IsDiscard(err):
		ended.verdict, ended.err = discarded, err.Error()
	case snoozed:
		ended.verdict, ended.err, ended.wait = snoozing, "", snooze
	case cause == nil, errors.Is(cause, errTakenBack):
		ended.verdict, ended.err = failed, err.Error()
	case errors.Is(cause, errTimeout):
		ended.verdict, ended.err = failed, fmt.Sprintf("timed out after %s: %v", k.Timeout, err)
	case errors.Is(cause, riverqueue.ErrJobCancelledRemotely):
		ended.verdict, ended.err = cancelled, err.Error()
	default: // the process stops
		ended.verdict, ended.err = interrupted, ""
	}
	r.log.DebugContext(ctx, "job ran", "job", row.ID, "kind", k.Name, "attempt", row.Attempt,
		"verdict", ended.verdict, "error", ended.err)
}
