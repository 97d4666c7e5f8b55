package sink_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/postbus/postbus/bench/internal/sink"
)

const body = `{"id":"1","type":"t","subject":"note-1","data":{"subject":"other"}}`

func start(t *testing.T, wait time.Duration) *sink.Sink {
	t.Helper()
	s, err := sink.Start(wait)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// Promise: a request counts once for its path and webhook-id.
func TestDeliveriesCountOnce(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	for _, path := range []string{"/a", "/a", "/b"} {
		if err := sink.Post(t.Context(), s.URL+path, body, 5, 2); err != nil {
			t.Fatal(err)
		}
	}
	if n, again := s.Count(); n != 10 || again != 5 {
		t.Errorf("%d deliveries and %d again, want 10 and 5", n, again)
	}
	if a := s.Arrivals()[0]; a.Path != "/a" || a.Subject != "note-1" || a.ID == "" {
		t.Errorf("arrival %+v", a)
	}
}

// Promise: each answer takes the time that the sink was started with.
func TestAnswersTakeTheirTime(t *testing.T) {
	t.Parallel()
	s := start(t, 5*time.Millisecond)
	if err := sink.Post(t.Context(), s.URL, body, 20, 2); err != nil {
		t.Fatal(err)
	}
	if took := s.Took(); took < 50*time.Millisecond {
		t.Errorf("20 answers, 2 at a time, took %s, want 50 ms at least", took)
	}
}

// Promise: paths that hang answer nothing until the client goes, and do not count.
func TestPathsHang(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	s.Hang("/hung")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := sink.Post(ctx, s.URL+"/hung", body, 1, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a path that hangs ends with %v", err)
	}
	if err := sink.Post(t.Context(), s.URL+"/well", body, 1, 1); err != nil {
		t.Error(err)
	}
	if n, _ := s.Count(); n != 1 {
		t.Errorf("%d deliveries, want the one that was answered", n)
	}
}
