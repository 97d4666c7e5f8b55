package wait_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postbus/postbus/internal/wait"
)

// recorder is a testing.TB that remembers how it was failed.
type recorder struct {
	testing.TB
	fatal string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.fatal = fmt.Sprintf(format, args...)
	panic(r)
}

func TestEventuallyReturnsWhenTheConditionHolds(t *testing.T) {
	t.Parallel()
	looks := 0
	wait.Eventually(t, time.Minute, func() (bool, string) { looks++; return looks == 4, "not yet" })
	if looks != 4 {
		t.Errorf("looks = %d, want 4", looks)
	}
}

func TestEventuallyFailsWithTheLastReason(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	defer func() {
		if recover() != r || !strings.Contains(r.fatal, "3 of 5 arrived") {
			t.Errorf("failed with %q, want the reason", r.fatal)
		}
	}()
	wait.Eventually(r, 20*time.Millisecond, func() (bool, string) { return false, "3 of 5 arrived" })
}
