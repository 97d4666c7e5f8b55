package work

import (
	"context"
	"time"

	"github.com/postbus/postbus/internal/loop"
)

func again(ctx context.Context, do func() error) {
	for {
		if err := do(); err == nil {
			return
		}
		_ = loop.Sleep(ctx, time.Second) // want retry
	}
}

// watch waits, and tries nothing again.
func watch(ctx context.Context, done func() bool) {
	for !done() {
		_ = loop.Sleep(ctx, time.Second)
	}
}
