package loop_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postbus/postbus/internal/loop"
)

func TestTickerPassesAtStartAndEveryInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var passes atomic.Int32
		ticker := loop.Ticker{Interval: time.Minute, Once: func(context.Context) error { passes.Add(1); return nil }}
		ticker.Start(t.Context())
		synctest.Wait()
		if got := passes.Load(); got != 1 {
			t.Errorf("passes at start = %d, want 1", got)
		}
		_ = loop.Sleep(t.Context(), time.Hour)
		ticker.Stop()
		if got := passes.Load(); got < 54 || got > 68 { // 60 min at 54 to 66 s each, and the first
			t.Errorf("passes in an hour = %d, want about 61", got)
		}
	})
}

// A Wake is never lost: one that arrives during a pass brings another pass.
func TestTickerWakeDuringAPassBringsAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var passes atomic.Int32
		ticker := loop.Ticker{}
		ticker.Once = func(context.Context) error {
			if passes.Add(1) == 1 {
				ticker.Wake()
				ticker.Wake()
			}
			return nil
		}
		ticker.Start(t.Context())
		synctest.Wait()
		if got := passes.Load(); got != 2 {
			t.Errorf("passes = %d, want 2: two Wakes during one pass share the next", got)
		}
		ticker.Wake()
		synctest.Wait()
		if got := passes.Load(); got != 3 {
			t.Errorf("passes after a Wake at rest = %d, want 3", got)
		}
		ticker.Stop()
	})
}

// A failing Ticker slows down and no Wake hurries it; a success resets it.
func TestTickerBackoff(t *testing.T) {
	t.Parallel()
	log, out := logTo()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var at []time.Duration
		ticker := loop.Ticker{Name: "sick", Log: log}
		ticker.Once = func(ctx context.Context) error {
			at = append(at, time.Since(begin))
			ticker.Wake()
			switch len(at) {
			case 9:
				return nil
			case 11:
				<-ctx.Done()
			}
			return errors.New("no luck")
		}
		ticker.Start(t.Context())
		_ = loop.Sleep(t.Context(), 10*time.Minute)
		ticker.Stop()
		want := []time.Duration{2, 4, 8, 16, 32, 60, 60, 60, 0, 2}
		for i, seconds := range want {
			got, mean := at[i+1]-at[i], seconds*time.Second
			if got < mean*9/10 || got > mean*11/10 {
				t.Errorf("wait %d = %v, want %v give or take 10 %%", i, got, mean)
			}
		}
	})
	for _, want := range []string{"loop=sick", "no luck", "failures=8", "pass succeeds again"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("log lacks %q:\n%s", want, out)
		}
	}
}

// A panic in a pass is a failed pass: logged with its stack, and the ticker goes on.
func TestTickerGoesOnAfterAPanic(t *testing.T) {
	t.Parallel()
	log, out := logTo()
	synctest.Test(t, func(t *testing.T) {
		var passes atomic.Int32
		ticker := loop.Ticker{Interval: time.Second, Log: log, Once: func(context.Context) error {
			if passes.Add(1) == 1 {
				panic("boom")
			}
			return nil
		}}
		ticker.Start(t.Context())
		_ = loop.Sleep(t.Context(), 10*time.Second)
		ticker.Stop()
		if got := passes.Load(); got < 2 {
			t.Errorf("passes = %d, want more after the panic", got)
		}
	})
	for _, want := range []string{"boom", "ticker_test.go"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("log lacks %q:\n%s", want, out)
		}
	}
}

func TestTickerStopCancelsThePassAndLogsNothing(t *testing.T) {
	t.Parallel()
	log, out := logTo()
	entered := make(chan struct{})
	ticker := loop.Ticker{Log: log, Once: func(ctx context.Context) error {
		close(entered)
		<-ctx.Done()
		return ctx.Err()
	}}
	ticker.Start(t.Context())
	<-entered
	ticker.Stop()
	if out.String() != "" {
		t.Errorf("a stopped pass was logged as a failure:\n%s", out)
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := loop.Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("Sleep = %v, want context.Canceled", err)
	}
	if err := loop.Sleep(t.Context(), time.Millisecond); err != nil {
		t.Errorf("Sleep = %v, want nil", err)
	}
}

// A pass that would hang for ever is ended, and the next one comes.
func TestTickerEndsAPassThatHangs(t *testing.T) {
	t.Parallel()
	passes := make(chan struct{}, 10)
	ticker := loop.Ticker{
		Name: "hangs", Timeout: time.Millisecond, BackoffBase: time.Millisecond, BackoffMax: time.Millisecond,
		Log: slog.New(slog.DiscardHandler),
		Once: func(ctx context.Context) error {
			passes <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		},
	}
	ticker.Start(t.Context())
	defer ticker.Stop()
	for range 2 {
		select {
		case <-passes:
		case <-time.After(10 * time.Second):
			t.Fatal("the next pass does not come")
		}
	}
}
