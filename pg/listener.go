package pg

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/loop"
)

// ListenerConfig says how a Listener looks after its connection.
type ListenerConfig struct {
	// Conn is how to connect where LISTEN needs a way of its own, for instance past a pooler in transaction mode to the
	// server itself. Defaults to the pool's.
	Conn *pgx.ConnConfig
	// Log defaults to slog.Default().
	Log *slog.Logger
	// PingEvery is how often the connection is tried. Defaults to 10 s.
	PingEvery time.Duration
	// PingTimeout is how long an answer may take before the connection counts as lost.
	// Defaults to 5 s.
	PingTimeout time.Duration
	// ProbeEvery is how often a notification is sent to oneself. Defaults to 1 min.
	ProbeEvery time.Duration
	// ProbeTimeout is how long that one may take before the listener counts as deaf.
	// Defaults to 2 s.
	ProbeTimeout time.Duration
	// BackoffBase is the first wait before a lost connection is made again. Defaults to 100 ms.
	BackoffBase time.Duration
	// BackoffMax bounds that wait, which doubles. Defaults to 5 s.
	BackoffMax time.Duration
	// Buffer is how many notifications a subscription holds for its reader. Defaults to 256.
	Buffer int
}

func (c ListenerConfig) withDefaults() ListenerConfig {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	defaults := []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.PingEvery, 10 * time.Second}, {&c.PingTimeout, 5 * time.Second},
		{&c.ProbeEvery, time.Minute}, {&c.ProbeTimeout, 2 * time.Second},
		{&c.BackoffBase, 100 * time.Millisecond}, {&c.BackoffMax, 5 * time.Second},
	}
	for _, d := range defaults {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	if c.Buffer <= 0 {
		c.Buffer = 256
	}
	return c
}

// Listener keeps the process's one connection that listens, beside the pool, and hands what it
// hears to subscriptions. The connection also holds session locks (TryLock). Between two
// statements it waits outside of any transaction, so it never holds back vacuum or the queue of
// notifications.
type Listener struct {
	pool   *pgxpool.Pool
	config ListenerConfig
	runner loop.Runner
	sender loop.Runner // sends the probe

	mu        sync.Mutex
	subs      map[string]map[*Subscription]struct{} // by channel
	changed   bool                                  // subs is ahead of listening
	listening map[string]bool                       // the channels whose LISTEN is in effect
	requests  []*lockRequest                        // for the connection's goroutine; none while disconnected
	held      map[int64]bool
	interrupt context.CancelFunc // ends the wait for a notification; nil while there is none
	hears     bool               // connected, and a probe of this connection arrived
	deaf      bool
	state     ListenerState
	sent      *sentProbe // news from the sender
}

// NewListener returns a listener that connects as the pool does. It does nothing until Start.
func NewListener(pool *pgxpool.Pool, config ListenerConfig) *Listener {
	config = config.withDefaults()
	l := &Listener{
		pool: pool, config: config,
		state: ListenerState{Hearing: Off, Since: time.Now()},
		subs:  map[string]map[*Subscription]struct{}{}, listening: map[string]bool{}, held: map[int64]bool{},
	}
	l.runner = loop.Runner{Name: "listener", Log: config.Log}
	l.sender = loop.Runner{Name: "listener probe", Log: config.Log}
	return l
}

// Start begins to listen and returns at once. A database that is away is no error: the listener
// goes on trying until Stop, or until ctx ends.
func (l *Listener) Start(ctx context.Context) error {
	l.runner.Start(ctx, l.run)
	return nil
}

// Stop closes the connection; locks go with it. Subscriptions stay, and hear a Resync when the
// listener is started again. Never started and twice are fine.
func (l *Listener) Stop() {
	l.runner.Stop()
	l.sender.Stop()
}

// Deaf says that the self-probe found that notifications do not arrive, as behind a pooler in
// transaction mode: users poll. It is false before the first probe has failed.
func (l *Listener) Deaf() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deaf
}

// run makes connections, one after the other.
func (l *Listener) run(ctx context.Context) {
	backoff := loop.Backoff{Base: l.config.BackoffBase, Max: l.config.BackoffMax}
	var lost *backend
	away := false
	for ctx.Err() == nil {
		began := time.Now()
		s, err := l.connect(ctx, lost)
		if err == nil {
			if away {
				l.config.Log.InfoContext(ctx, "the listening connection is back")
			}
			away, lost = false, nil
			err = s.serve(ctx)
			if s.proven {
				lost = &s.backend
			}
		}
		if ctx.Err() != nil {
			return
		}
		if s != nil && time.Since(began) > l.config.BackoffMax { // it was good for something
			backoff.Reset()
		}
		level, wait := slog.LevelDebug, backoff.Next()
		if !away {
			level = slog.LevelWarn // once per outage
		}
		away = true
		l.config.Log.Log(ctx, level, "no listening connection; until it is back, polling finds what there is",
			"error", err, "retry_in", wait.Round(time.Millisecond))
		_ = loop.Sleep(ctx, wait)
	}
}

// poke has the connection's goroutine look at what is asked of it. The lock must be held.
func (l *Listener) poke() {
	if l.interrupt != nil {
		l.interrupt()
	}
}

// Subscribe listens on a channel (1 to 63 bytes; it panics on another name, as a channel is a
// constant of the program). The first thing that comes is a Resync, when LISTEN is in effect:
// whoever looks then has no gap.
func (l *Listener) Subscribe(channel string) *Subscription {
	if err := checkChannel(channel); err != nil {
		panic(fmt.Sprintf("%v", err))
	}
	s := &Subscription{listener: l, channel: channel, c: make(chan Notification, l.config.Buffer)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.subs[channel] == nil {
		l.subs[channel] = map[*Subscription]struct{}{}
	}
	l.subs[channel][s] = struct{}{}
	if l.listening[channel] {
		s.push(Notification{Channel: channel, Resync: true})
		return s
	}
	l.changed = true
	l.poke()
	return s
}
