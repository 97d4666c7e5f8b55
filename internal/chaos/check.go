package chaos

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/webhooks"
)

// check loads what was noted outside of the database and makes every comparison.
func (w *world) check(ctx context.Context, r *Report) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	if err := w.load(ctx); err != nil {
		return fmt.Errorf("chaos: check: %w", err)
	}
	for _, c := range comparisons {
		found, err := compare(ctx, w.admin, c)
		if err != nil {
			return fmt.Errorf("chaos: check %q: %w", c.what, err)
		}
		r.Findings = append(r.Findings, found)
	}
	if err := w.balance(ctx, r); err != nil {
		return fmt.Errorf("chaos: check: %w", err)
	}
	if err := w.count(ctx, r); err != nil {
		return fmt.Errorf("chaos: check: %w", err)
	}
	return w.recoveries(ctx, r)
}

const mostExamples = 20

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func compare(ctx context.Context, db querier, c comparison) (Finding, error) {
	f := Finding{Class: c.class, What: c.what}
	rows, err := db.Query(ctx, `select x, count(*) over () from (`+c.sql+`) as q (x) order by 1 limit $1`, mostExamples)
	if err != nil {
		return f, err
	}
	f.Examples, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (text string, err error) {
		return text, row.Scan(&text, &f.Count)
	})
	return f, err
}

// load fills the tables of what was noted outside.
func (w *world) load(ctx context.Context) error {
	var told, sunk, said [][]any
	for id, e := range w.writers.journal.entries {
		told = append(told, []any{id, e.outcome, e.why})
	}
	for _, t := range w.sink.log() {
		sunk = append(sunk, []any{t.endpoint, t.event, t.subject, t.status, t.fault})
	}
	raw, err := os.ReadFile(w.worker.spec.Log)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for event := range strings.FieldsSeq(string(raw)) {
		said = append(said, []any{event})
	}
	for _, t := range []struct {
		name    string
		columns []string
		rows    [][]any
	}{
		{"journal", []string{"id", "outcome", "why"}, told},
		{"sunk", []string{"endpoint", "event_id", "subject", "status", "fault"}, sunk},
		{"worker_log", []string{"event_id"}, said},
	} {
		if _, err := w.admin.CopyFrom(ctx, pgx.Identifier{"app", t.name}, t.columns, pgx.CopyFromRows(t.rows)); err != nil {
			return fmt.Errorf("load %s: %w", t.name, err)
		}
	}
	_, err = w.admin.Exec(ctx, settleSQL)
	return err
}

// settleSQL makes the comparisons quick: copies what they read most, and tells the planner of what there is. Ids are compared as texts
// too: without an index of them the planner, which guesses few jobs, goes through all events for each.
const settleSQL = `create table app.outbox as select * from app.all_events;
	create index on app.outbox (id); create index on app.outbox ((id::text)); create index on app.outbox (subject); create index on app.sunk (event_id); create index on app.labels (event_id); create index on app.handled ((event_id::text), subscriber);
	analyze`

// balance asks the product's own account, and adds what the processes did.
func (w *world) balance(ctx context.Context, r *Report) error {
	a, err := w.bus.Webhooks().Account(ctx, webhooks.AccountFilter{})
	if err != nil {
		return err
	}
	bad := 0
	for _, t := range w.sink.log() {
		if t.fault != "" {
			bad++
		}
	}
	r.Unverified = bad
	r.Findings = append(r.Findings,
		Finding{Class: isOff, What: "deliveries that the account of webhooks misses", Count: int(max(a.Unaccounted, -a.Unaccounted))},
		Finding{Class: isOff, What: "events whose fan-out to endpoints the account says is outstanding", Count: int(a.Outstanding)},
		Finding{Class: isOff, What: "processes that panicked, or in which a race was found", Count: r.Crashes},
	)
	if r.Drained {
		return nil
	}
	left, err := compare(ctx, w.admin, comparison{isOff, "parts of the queue that never came to rest", leftSQL})
	left.Count = max(left.Count, 1)
	r.Findings = append(r.Findings, left)
	return err
}

// leftSQL says what is left in the queue, in all kinds, and when it would be due.
const leftSQL = `select format('%s %s %s due %s', count(*), kind, state, min(scheduled_at)) from postbus.river_job
	where state not in ('completed', 'discarded', 'cancelled') group by kind, state
	union all select format('slot %s of %s: job %s %s, delivery %s, lease until %s, touched %s', s.slot, p.description, s.job_id, j.state,
		s.delivery_id, s.lease_until, s.touched_at)
	from postbus.webhook_slots as s join postbus.webhook_endpoints as p on p.id = s.endpoint_id
	left join postbus.river_job as j on j.id::text = s.job_id
	union all select format('%s deliveries to %s due %s', count(*), p.description, min(d.next_attempt_at))
	from postbus.webhook_deliveries as d join postbus.webhook_endpoints as p on p.id = d.endpoint_id
	where d.state = 'pending' group by p.description
	union all select format('it is %s', clock_timestamp())`
