package river

import (
	"context"
	"log/slog"

	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/pg"
)

// follow calls hear for each notification on the channel until stop, which waits for a call that is under way.
func follow(hub *pg.Listener, channel string, log *slog.Logger, hear func(pg.Notification)) (stop func()) {
	sub := hub.Subscribe(channel)
	runner := &loop.Runner{Name: "follow " + channel, Log: log}
	runner.Start(context.Background(), func(context.Context) {
		for n := range sub.C() {
			hear(n)
		}
	})
	return func() {
		sub.Close() // ends the range
		runner.Stop()
	}
}
