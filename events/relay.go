package events

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// eventsChannel wakes relays. The payload is empty: which events there are is for the table to say.
const eventsChannel = "postbus_events"

// relay is the loop that turns events into jobs. One runs in every process.
type relay struct {
	cfg     Config
	pool    *pgxpool.Pool
	runtime func() jobs.Runtime
	duty    *duty
	runner  loop.Runner
	poked   chan struct{}
	wide    bool // the pool has room for passes side by side

	// Owned by the loop.
	floor    int64     // where claims start: a hint, see pass
	scanned  time.Time // when a claim last overlooked nothing
	careful  bool      // the next pass isolates bad rows
	deep     bool      // the last pass was full: the next ones go side by side
	size     int       // how many events the next pass claims
	failures int       // passes in a row that failed through their surroundings
}

func newRelay(b *Bus) *relay {
	return &relay{
		cfg: b.cfg, pool: b.pool, runtime: func() jobs.Runtime { return b.runtime },
		duty: &duty{listener: b.cfg.Listener, log: b.cfg.Log},
		size: b.cfg.BatchSize, poked: make(chan struct{}, 1), wide: b.pool.Config().MaxConns >= roomy,
	}
}

func (r *relay) start(ctx context.Context) { r.runner.Start(ctx, r.run) }
func (r *relay) stop()                     { r.runner.Stop() }

// wake makes the relay look now.
func (r *relay) wake() {
	select {
	case r.poked <- struct{}{}:
	default:
	}
}

// run works while there is work, and otherwise sleeps until it hears of some or the poll interval has passed.
func (r *relay) run(ctx context.Context) {
	heard, closeSub := r.subscribe()
	defer closeSub()
	defer r.duty.leave(context.WithoutCancel(ctx))
	for ctx.Err() == nil {
		heard = forget(heard)
		busy, err := r.runOnce(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			r.backOff(ctx, err)
		case busy:
			r.duty.take(ctx)
		default:
			if !r.linger(ctx, heard) {
				r.sleep(ctx, heard)
			}
		}
	}
}

func (r *relay) subscribe() (<-chan pg.Notification, func()) {
	if r.cfg.Listener == nil {
		return nil, func() {}
	}
	sub := r.cfg.Listener.Subscribe(eventsChannel)
	return sub.C(), sub.Close
}

// forget drops what was heard so far: the claim that follows sees every commit that was told of. It answers the channel, or nil
// once that is closed.
func forget(heard <-chan pg.Notification) <-chan pg.Notification {
	for {
		select {
		case _, open := <-heard:
			if !open {
				return nil
			}
		default:
			return heard
		}
	}
}

// runOnce makes one pass and reports whether it found anything. The floor lets a claim start behind what was already fanned
// out, past index entries that vacuum has not removed yet. It is a hint and no promise: events below it (committed late,
// released by another relay, due again) are found by the full scan that comes at least every two seconds and always before
// the relay sleeps.
func (r *relay) runOnce(ctx context.Context) (busy bool, err error) {
	began := time.Now()
	if began.Sub(r.scanned) >= fullScanEvery {
		r.floor = fullScan
	}
	full := r.floor == fullScan
	res, err := r.passes(ctx)
	if err != nil {
		return r.failed(err)
	}
	r.failures = 0
	r.careful = res.failed > 0 || r.careful && (res.claimed == 0 || res.fanned < res.claimed)
	if full {
		r.scanned = began
	}
	if res.claimed == 0 {
		empty := full
		r.floor = fullScan
		return !empty, nil // an empty look from the floor is repeated without it
	}
	r.floor = res.next
	r.gather(ctx, res)
	return true, nil
}

// gather pauses after a pass that took less than half a batch, so that the next one takes more: each pass costs a commit, which
// the writers feel. Where several events came at once there is a stream of them, and longer pauses gather more.
func (r *relay) gather(ctx context.Context, res passResult) {
	switch {
	case res.left || res.claimed >= r.cfg.BatchSize/2:
	case res.claimed >= stream:
		_ = loop.Sleep(ctx, 5*r.cfg.PassGap)
	default:
		_ = loop.Sleep(ctx, r.cfg.PassGap)
	}
}

// stream is how many events in one pass tell a stream from single ones.
const stream = 8

// sideBySide is how many passes share a deep backlog. Each waits for the database most of its time; they claim different rows.
const sideBySide = 2

// roomy is the size of a pool of which the relay may hold two connections at a time.
const roomy = 8

// passes makes one pass, or several side by side while the backlog is deep, and adds up what they did. A panic is an error, so
// that the relay goes on.
func (r *relay) passes(ctx context.Context) (sum passResult, err error) {
	var results [sideBySide]passResult
	width := 1
	if r.wide && r.deep && !r.careful {
		width = sideBySide
	}
	err = loop.Together(ctx, width, func(ctx context.Context, i int) (err error) {
		results[i], err = r.bounded(ctx)
		return err
	})
	for _, res := range results {
		sum = sum.plus(res)
	}
	r.deep = sum.left || sum.claimed >= r.size
	r.size = r.cfg.BatchSize
	if r.deep && err == nil && sum.failed == 0 && sum.made <= sum.claimed/2 {
		r.size = r.cfg.deepBatch // the cost of a pass itself is what counts then
	}
	return sum, err
}

// bounded makes a pass that ends in time: on a connection that went silent it would wait for ever.
func (r *relay) bounded(ctx context.Context) (passResult, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	return r.pass(ctx, r.floor, r.careful)
}

// failed decides what follows a failed pass: a row's own fault is isolated by a careful pass at once, anything else is
// handed back to be waited out. The relay is busy until that pass has claimed the rows: where another holds them it stays careful.
func (r *relay) failed(err error) (busy bool, _ error) {
	r.floor = fullScan
	if ownFault(err) && !r.careful {
		r.careful = true
		r.cfg.Log.Warn("a fan-out failed; trying again event by event", "error", err)
		return true, nil
	}
	return false, err
}

// backOff waits 2 s, doubling to 1 min, while passes fail through their surroundings. Nobody stays on duty meanwhile.
func (r *relay) backOff(ctx context.Context, err error) {
	r.failures++
	r.duty.leave(ctx)
	wait := jobs.Exponential(r.cfg.BackoffBase, 2, r.cfg.BackoffMax)(r.failures)
	r.cfg.Log.LogAttrs(ctx, slog.LevelError, "relay pass failed; nothing is lost, trying again",
		slog.Any("error", err), slog.Int("failures", r.failures), slog.Duration("wait", wait))
	_ = loop.Sleep(ctx, wait)
}

// After work the relay looks again before it sleeps. On duty nobody notifies it, so it stays for several empty looks; when it
// has left, writers that probed the lock just before have committed by the last of these.
var (
	onDutyLooks  = []time.Duration{2, 3, 5, 5, 5} // ms
	offDutyLooks = []time.Duration{1, 4, 15, 30, 50}
)

// linger reports whether work turned up while the relay left its duty.
func (r *relay) linger(ctx context.Context, heard <-chan pg.Notification) bool {
	if !r.duty.held {
		return false
	}
	if r.look(ctx, heard, onDutyLooks) {
		return true
	}
	r.duty.leave(ctx)
	return r.look(ctx, heard, offDutyLooks)
}

// look looks after each of the pauses, which a notification cuts short.
func (r *relay) look(ctx context.Context, heard <-chan pg.Notification, pauses []time.Duration) bool {
	for _, ms := range pauses {
		if r.rest(ctx, heard, ms*time.Millisecond) || r.claimable(ctx) {
			return true
		}
	}
	return false
}

// rest waits and reports whether it was told of work, or to stop, before the time was over.
func (r *relay) rest(ctx context.Context, heard <-chan pg.Notification, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-heard:
	case <-r.poked:
	case <-timer.C:
		return false
	}
	return true
}

// claimable answers false when the database does not answer: the pass that follows will say why.
func (r *relay) claimable(ctx context.Context) bool {
	found, err := queries(r.pool).AnyClaimable(ctx, eventsql.AnyClaimableParams{FloorSeq: fullScan})
	return err == nil && found
}

// sleep waits for a notification, a poke or work that a poll finds: the poll is what finds events when a NOTIFY was lost.
// Now and then it ends without any, so that a pass says what is wrong where the database does not answer.
func (r *relay) sleep(ctx context.Context, heard <-chan pg.Notification) {
	for range 10 {
		if r.rest(ctx, heard, r.cfg.PollInterval) || r.claimable(ctx) {
			return
		}
	}
}
