package loop_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/postbus/postbus/internal/loop"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// syncBuffer is a log target that may be read while it is written.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func logTo() (*slog.Logger, *syncBuffer) {
	buf := &syncBuffer{}
	return slog.New(slog.NewTextHandler(buf, nil)), buf
}

func TestRunnerStopToleratesNeverStartedAndTwice(t *testing.T) {
	t.Parallel()
	var r loop.Runner
	r.Stop()
	r.Start(t.Context(), func(ctx context.Context) { <-ctx.Done() })
	r.Stop()
	r.Stop()
}

func TestRunnerStopWaitsForTheFunction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r loop.Runner
		var returned atomic.Bool
		r.Start(t.Context(), func(ctx context.Context) {
			<-ctx.Done()
			_ = loop.Sleep(context.WithoutCancel(ctx), time.Hour)
			returned.Store(true)
		})
		synctest.Wait()
		r.Stop()
		if !returned.Load() {
			t.Error("Stop returned before the function did")
		}
	})
}

func TestRunnerContextKeepsValuesAndEndsWithStartsContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
	ended := make(chan any)
	var r loop.Runner
	r.Start(ctx, func(ctx context.Context) {
		<-ctx.Done()
		ended <- ctx.Value(key{})
	})
	cancel()
	if got := <-ended; got != "kept" {
		t.Errorf("value = %v, want kept", got)
	}
	r.Stop()
}

func TestRunnerStartWhileRunningDoesNothingAndStartAfterEndRunsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r loop.Runner
		var runs atomic.Int32
		count := func(ctx context.Context) { runs.Add(1); <-ctx.Done() }
		r.Start(t.Context(), count)
		r.Start(t.Context(), count)
		synctest.Wait()
		if got := runs.Load(); got != 1 {
			t.Errorf("runs = %d, want 1", got)
		}
		r.Stop()
		r.Start(t.Context(), count)
		synctest.Wait()
		r.Stop()
		if got := runs.Load(); got != 2 {
			t.Errorf("runs after a second Start = %d, want 2", got)
		}
	})
}

func TestRunnerPanicIsLoggedWithItsStack(t *testing.T) {
	t.Parallel()
	log, out := logTo()
	r := loop.Runner{Name: "fragile", Log: log}
	r.Start(t.Context(), func(context.Context) { panic("boom") })
	r.Stop()
	for _, want := range []string{"boom", "loop=fragile", "loop_test.go"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("log lacks %q:\n%s", want, out)
		}
	}
}

// Two runs of one Runner never overlap, whatever the order of Start and Stop.
func TestRunnerStress(t *testing.T) {
	t.Parallel()
	var r loop.Runner
	var inside, overlaps atomic.Int32
	fn := func(ctx context.Context) {
		if inside.Add(1) > 1 {
			overlaps.Add(1)
		}
		<-ctx.Done()
		inside.Add(-1)
	}
	storm(func() {
		if rand.IntN(2) == 0 {
			r.Start(t.Context(), fn)
		} else {
			r.Stop()
		}
	})
	r.Stop()
	if overlaps.Load() > 0 || inside.Load() != 0 {
		t.Errorf("overlaps = %d, still inside = %d, want 0 and 0", overlaps.Load(), inside.Load())
	}
}

func TestTickerStress(t *testing.T) {
	t.Parallel()
	log, _ := logTo()
	var inside, overlaps atomic.Int32
	ticker := loop.Ticker{
		Name: "stress", Interval: time.Microsecond, Log: log,
		BackoffBase: time.Microsecond, BackoffMax: time.Microsecond,
		Once: func(context.Context) error {
			defer inside.Add(-1)
			if inside.Add(1) > 1 {
				overlaps.Add(1)
			}
			switch rand.IntN(3) {
			case 0:
				return errors.New("no luck")
			case 1:
				panic("worse")
			}
			return nil
		},
	}
	storm(func() {
		switch rand.IntN(3) {
		case 0:
			ticker.Start(t.Context())
		case 1:
			ticker.Wake()
		default:
			ticker.Stop()
		}
	})
	ticker.Stop()
	if overlaps.Load() > 0 || inside.Load() != 0 {
		t.Errorf("overlaps = %d, still inside = %d, want 0 and 0", overlaps.Load(), inside.Load())
	}
}

// storm calls act 200 times from each of 16 goroutines.
func storm(act func()) {
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 200 {
				act()
			}
		})
	}
	wg.Wait()
}
