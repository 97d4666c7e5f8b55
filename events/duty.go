package events

import (
	"context"
	"log/slog"

	"github.com/postbus/postbus/pg"
)

// dutyKey is the advisory lock that says: a relay is looking, no need to notify. The trigger postbus.wake_relay probes it.
const dutyKey int64 = 5287002951004850

// duty is the relay's hold on the lock. The lock belongs to the session of the process's listening connection, so it goes
// when the process or the connection does. Where that connection is deaf there is no duty: behind a transaction pooler a
// session's lock would stay with the pool and silence the writers.
type duty struct {
	listener *pg.Listener
	log      *slog.Logger
	held     bool
}

// take tries to be on duty. Where another relay is, this one works all the same.
func (d *duty) take(ctx context.Context) {
	if d.listener == nil {
		return
	}
	if d.held {
		d.held = d.listener.Held(dutyKey)
		return
	}
	held, err := d.listener.TryLock(ctx, dutyKey)
	if err != nil && ctx.Err() == nil {
		d.log.DebugContext(ctx, "the relay's duty lock cannot be had", "error", err)
	}
	d.held = held
}

// leave ends the duty: from now on writers notify.
func (d *duty) leave(ctx context.Context) {
	if !d.held {
		return
	}
	d.held = false
	if err := d.listener.Unlock(ctx, dutyKey); err != nil && ctx.Err() == nil {
		d.log.WarnContext(ctx, "the relay's duty lock could not be released; it goes with the connection", "error", err)
	}
}
