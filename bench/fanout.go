package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/rig"
)

// claimed is how many events a relay claims by default: River inserts as many jobs at a time as a pass of the relay does.
const claimed = 200

var subscribers = []int{1, 10, 100}

// fanout measures how fast a relay turns a backlog into jobs, beside River inserting as many jobs by InsertManyFast. No
// process works the jobs.
func fanout() group {
	names := []string{"fanout_rate", "river_insert_rate"}
	for _, n := range subscribers {
		names = append(names, named("fanout", n))
		if n > 1 {
			names = append(names, named("fanout_linear", n))
		}
	}
	return group{name: "fanout", figures: names, measure: measureFanout}
}

func measureFanout(ctx context.Context, b *bench, db *rig.Database) ([]figure.Figure, error) {
	insert, err := newRiverInsert(ctx, db)
	if err != nil {
		return nil, err
	}
	var sides []side
	for _, n := range subscribers {
		own, err := b.server.Database(ctx, named("bench_fanout", n))
		if err != nil {
			return nil, err
		}
		defer func() { _ = b.server.Drop(context.WithoutCancel(ctx), own) }()
		relay, err := newRelayOnly(ctx, own, n)
		if err != nil {
			return nil, err
		}
		events := b.plan.backlog[n]
		sides = append(sides,
			side{named("river", n), func(ctx context.Context) (float64, error) { return insert.rate(ctx, events*n, claimed*n) }},
			side{named("relay", n), func(ctx context.Context) (float64, error) { return relay.jobRate(ctx, events) }},
		)
	}
	rates, err := b.rounds(ctx, "fanout", b.plan.pairs, sides)
	if err != nil {
		return nil, err
	}
	return fanoutFigures(rates, b.plan.judgesRatios()), nil
}

// fanoutFigures reads the rounds. The rates are jobs a second.
func fanoutFigures(rates map[string][]float64, enough bool) []figure.Figure {
	figures := []figure.Figure{
		figure.Of(figure.Measured{Name: "fanout_rate", Unit: "events/s", Values: rates["relay_1"], Note: "one subscriber"}),
		figure.Of(figure.Measured{Name: "river_insert_rate", Unit: "jobs/s", Values: rates["river_1"]}),
	}
	for _, n := range subscribers {
		relay := rates[named("relay", n)]
		m := figure.Measured{
			Name: named("fanout", n), Unit: "ratio", Values: ratios(relay, rates[named("river", n)]), Enough: enough,
			Sides: map[string][]float64{"relay": relay, "river": rates[named("river", n)]}, Note: "jobs a second",
		}
		if n == 1 {
			m.Target = figure.AtLeast(0.5)
		}
		figures = append(figures, figure.Of(m))
		if n > 1 {
			figures = append(figures, figure.Of(figure.Measured{
				Name: named("fanout_linear", n), Unit: "ratio", Target: figure.AtMost(1.1), Values: ratios(rates["relay_1"], relay),
				Enough: enough, Note: fmt.Sprintf("cost of an event with %d subscribers / (%d x its cost with one)", n, n),
			}))
		}
	}
	return figures
}

// riverInsert inserts jobs that carry what a subscription's job carries.
type riverInsert struct {
	db     *rig.Database
	client *river.Client[pgx.Tx]
}

func newRiverInsert(ctx context.Context, db *rig.Database) (*riverInsert, error) {
	if err := migrateRiver(ctx, db.Pool); err != nil {
		return nil, err
	}
	client, err := riverInserting(db.Pool)
	return &riverInsert{db: db, client: client}, err
}

// rate inserts jobs in batches and answers jobs a second.
func (r *riverInsert) rate(ctx context.Context, jobs, batch int) (float64, error) {
	if err := r.db.Clean(ctx); err != nil {
		return 0, err
	}
	ids := eventIDs(jobs)
	began := time.Now()
	for done := 0; done < jobs; done += batch {
		params := make([]river.InsertManyParams, min(batch, jobs-done))
		for i := range params {
			params[i].Args = subscriptionArgs{EventID: ids[done+i], Subscription: subscriber}
		}
		if _, err := r.client.InsertManyFast(ctx, params); err != nil {
			return 0, err
		}
	}
	return float64(jobs) / time.Since(began).Seconds(), nil
}

// eventIDs are as random as those of real events: an index takes longer over them than over numbers that rise.
func eventIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", rand.Uint32(), rand.Uint32N(1<<16), rand.Uint32N(1<<12), rand.Uint32N(1<<12), rand.Uint64N(1<<48))
	}
	return ids
}

type subscriptionArgs struct {
	EventID      string `json:"event_id"`
	Subscription string `json:"subscription"`
}

// Kind names the job for River.
func (subscriptionArgs) Kind() string { return "bench_insert" }
