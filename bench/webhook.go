package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/bench/internal/rig"
	"github.com/postbus/postbus/bench/internal/sink"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/webhooks"
)

// hooks measures webhooks: a bus with the library's defaults and a receiver, both in this process.
type hooks struct {
	*bench
	db   *rig.Database
	pool *pgxpool.Pool // of the bus
	key  string        // seals the secrets
}

func newHooks(ctx context.Context, b *bench, db *rig.Database) (*hooks, error) {
	key, err := webhooks.NewKey(app)
	if err != nil {
		return nil, err
	}
	pool, err := db.NewPool(ctx, busConns)
	return &hooks{bench: b, db: db, pool: pool, key: key}, err
}

// receiving is one bus with its receiver, which every event of the owner reaches at each path.
type receiving struct {
	*hooks
	bus   *postbus.Bus
	sink  *sink.Sink
	paths []string
}

// receivers says what the events go to.
type receivers struct {
	n, inFlight int
	wait        time.Duration // how long an answer takes
}

// with empties the tables, runs a bus with endpoints to a receiver, and stops both.
func (h *hooks) with(ctx context.Context, to receivers, use func(ctx context.Context, r *receiving) error) (err error) {
	if err := h.db.Clean(ctx); err != nil {
		return err
	}
	s, err := sink.Start(to.wait)
	if err != nil {
		return err
	}
	bus, err := newBus(h.pool, postbus.Config{
		App: app, Types: []events.Type{{Name: eventType, Exposure: events.Webhook}}, StopGrace: time.Second,
		Webhooks: &webhooks.Config{Keys: []string{h.key}, Allow: []string{sink.Host}},
	})
	if err == nil {
		err = bus.Start(ctx)
	}
	if err != nil {
		s.Stop()
		return err
	}
	defer stopping(ctx, bus.Stop, &err)
	defer s.Stop() // before the bus, so that nothing hangs while that stops
	r := &receiving{hooks: h, bus: bus, sink: s}
	for i := range to.n {
		path := fmt.Sprintf("/%d", i)
		r.paths = append(r.paths, path)
		spec := webhooks.EndpointSpec{OwnerID: owner, URL: s.URL + path, Types: []string{"*"}, MaxInFlight: to.inFlight}
		if _, err := bus.Webhooks().Create(ctx, spec); err != nil {
			return err
		}
	}
	return use(ctx, r)
}

const hooksWithin = 5 * time.Minute

// await waits until the receiver has got n deliveries.
func (r *receiving) await(ctx context.Context, n int) error {
	_, err := rig.Until(ctx, hooksWithin, time.Millisecond, func(context.Context) (bool, error) {
		got, _ := r.sink.Count()
		return got >= n, nil
	})
	return err
}

// check fails unless every event reached each of the paths, and each of these deliveries is on record as delivered.
func (r *receiving) check(ctx context.Context, paths []string) error {
	var urls []string
	for _, path := range paths {
		urls = append(urls, r.sink.URL+path)
	}
	recorded, err := rig.Until(ctx, arriveWithin, 10*time.Millisecond, func(ctx context.Context) (done bool, err error) {
		return done, r.db.Pool.QueryRow(ctx, hooksDeliveredSQL, urls, eventType).Scan(&done)
	})
	if err == nil && !recorded {
		err = fmt.Errorf("not every event is on record as delivered at each of %d endpoints", len(paths))
	}
	return errors.Join(err, r.compare(ctx, paths))
}

// compare holds the events against what the receiver got.
func (r *receiving) compare(ctx context.Context, paths []string) error {
	var ids []string
	if err := r.db.Pool.QueryRow(ctx, eventIDsSQL, eventType).Scan(&ids); err != nil {
		return err
	}
	type delivery struct{ path, id string }
	got := map[delivery]bool{}
	for _, a := range r.sink.Arrivals() {
		got[delivery{a.Path, a.ID}] = true
	}
	missing := 0
	for _, path := range paths {
		for _, id := range ids {
			if !got[delivery{path, id}] {
				missing++
			}
			delete(got, delivery{path, id})
		}
	}
	stray := 0
	for d := range got {
		for _, path := range paths {
			if d.path == path {
				stray++
			}
		}
	}
	if missing > 0 || stray > 0 || len(ids) == 0 {
		return fmt.Errorf("of %d events at %d endpoints %d deliveries are missing, and %d are of no event", len(ids), len(paths), missing, stray)
	}
	if _, again := r.sink.Count(); again > 0 {
		r.say("%d requests were repetitions", again)
	}
	return nil
}
