package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
)

// ResultBox names the job of one run and takes its result. An adapter puts one into the context of each handler it calls, and
// stores what is in it when the run completes.
type ResultBox struct {
	ID JobID

	mu     sync.Mutex
	result json.RawMessage
}

type boxKey struct{}

// WithResult answers a context in which SetResult fills the box.
func WithResult(ctx context.Context, box *ResultBox) context.Context {
	return context.WithValue(ctx, boxKey{}, box)
}

// Result answers what was set, nil where nothing.
func (b *ResultBox) Result() json.RawMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.result
}

// Current answers the job that a handler runs for; ctx is the handler's. The bool is false outside of one.
func Current(ctx context.Context) (JobID, bool) {
	box, ok := ctx.Value(boxKey{}).(*ResultBox)
	if !ok {
		return "", false
	}
	return box.ID, true
}

// SetResult says what a run came to, for operators and for whoever waits: a JSON value of at most 64 KiB, kept with the job as
// Job.Result when the run completes and forgotten when it does not. The last one said counts. ctx is the handler's.
func SetResult(ctx context.Context, value any) error {
	box, ok := ctx.Value(boxKey{}).(*ResultBox)
	if !ok {
		return fmt.Errorf("%w: SetResult outside of a handler: use the handler's context", ErrInvalid)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("%w: the result cannot be written as JSON: %w", ErrInvalid, err)
	}
	if err := CheckResult(raw); err != nil {
		return err
	}
	box.mu.Lock()
	defer box.mu.Unlock()
	box.result = raw
	return nil
}

// CheckResult reports why raw cannot be a result.
func CheckResult(raw json.RawMessage) error {
	switch {
	case len(raw) == 0:
		return nil
	case len(raw) > MaxResultBytes:
		return fmt.Errorf("%w: the result has %d bytes; the limit is %d", ErrInvalid, len(raw), MaxResultBytes)
	case !json.Valid(raw):
		return fmt.Errorf("%w: the result is not JSON", ErrInvalid)
	}
	return nil
}
