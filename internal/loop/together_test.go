package loop_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/postbus/postbus/internal/loop"
)

// All run at once, all are waited for, and a panic is an error among the others.
func TestTogether(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	var meet sync.WaitGroup
	meet.Add(3)
	err := loop.Together(t.Context(), 3, func(_ context.Context, i int) error {
		meet.Done()
		meet.Wait()
		switch i {
		case 0:
			return boom
		case 1:
			panic("ouch")
		}
		return nil
	})
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), "ouch") {
		t.Errorf("Together answers %v, want both failures", err)
	}
}
