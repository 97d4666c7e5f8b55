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

// What a count that is not zero would mean.
const (
	isLost    = "lost"
	isDoubled = "double fan-out"
	isPhantom = "phantom"
	isOff     = "accounting"
)

// Finding is one comparison: what is counted must be nothing.
type Finding struct {
	Class    string   `json:"class"`
	What     string   `json:"what"`
	Count    int      `json:"count"`
	Examples []string `json:"examples,omitempty"`
}

// comparison is a query that answers one text for everything that should not be.
type comparison struct{ class, what, sql string }

// subscribers are all who have to get each event; the first of a row is the job's kind.
const subscribersSQL = `(values ('ledger'), ('wide'), ('flaky'), ('labels'), ('webhook.fanout')) as s (name)`

var comparisons = []comparison{
	{isLost, "rows that the writer was told are committed and that are not there",
		`select id::text from app.journal where outcome = 'committed' except select id::text from app.business`},
	{isLost, "business rows without an event",
		`select id::text from app.business as b where not exists (select from app.outbox as e where e.subject = b.id::text)`},
	{isLost, "events that nobody fanned out, or that were poisoned",
		`select id::text from app.outbox where fanned_out_at is null or poisoned_at is not null`},
	{isLost, "events that got no job for a subscriber",
		`select e.id || ' ' || s.name from app.outbox as e cross join ` + subscribersSQL + ` where not coalesce(e.fanout, '{}') ? s.name`},
	{isLost, "events that a subscriber did not handle",
		`select e.id || ' ' || s.name from app.outbox as e cross join ` + subscribersSQL + `
		where s.name in ('ledger', 'wide', 'flaky') and not exists (
			select from app.handled as h where h.event_id = e.id and h.subscriber = s.name)`},
	{isLost, "events that the worker outside wrote no label for",
		`select e.id::text from app.outbox as e where not exists (select from app.labels as l where l.event_id = e.id)`},
	{isLost, "labels that the worker's log has and the table has not",
		`select event_id::text from app.worker_log except select event_id::text from app.labels`},
	{isLost, "webhooks that the receiver never took",
		`select e.id || ' ' || p.name from app.outbox as e cross join (values ('any'), ('ordered')) as p (name)
		where not exists (select from app.sunk as k where k.event_id = e.id::text and k.endpoint = p.name and k.status = 200 and k.fault = '')`},

	{isDoubled, "(event, subscriber) with more than one job",
		`select args ->> 'event_id' || ' ' || kind || ' ' || count(*) from postbus.river_job
		where kind in ('ledger', 'wide', 'flaky', 'labels', 'webhook.fanout') and args ? 'event_id'
		group by args ->> 'event_id', kind having count(*) > 1`},
	{isDoubled, "jobs of an event that its fan-out does not name",
		`select j.id || ' ' || j.kind from postbus.river_job as j left join app.outbox as e on e.id::text = j.args ->> 'event_id'
		where j.kind in ('ledger', 'wide', 'flaky', 'labels', 'webhook.fanout') and j.args ? 'event_id'
			and e.fanout ->> j.kind is distinct from j.id::text`},
	{isDoubled, "business rows with more than one event",
		`select subject from app.outbox group by subject having count(*) > 1`},
	{isDoubled, "events with more than one label, which is written with the completion",
		`select event_id::text from app.labels group by event_id having count(*) > 1`},

	{isPhantom, "rows that the writer was told are rolled back and that are there",
		`select id || ' ' || b.via || ', told ' || j.why from app.journal as j join app.business as b using (id) where j.outcome = 'rolled back'`},
	{isPhantom, "events without a business row",
		`select id::text from app.outbox as e where not exists (select from app.business as b where b.id::text = e.subject)`},
	{isPhantom, "handled events that there are not, or under another subject",
		`select event_id || ' ' || subscriber from app.handled as h
		where not exists (select from app.outbox as e where e.id = h.event_id and e.subject = h.subject)`},
	{isPhantom, "labels of events that there are not",
		`select event_id::text from app.labels as l where not exists (select from app.outbox as e where e.id = l.event_id)`},
	{isPhantom, "webhooks about events that there are not, or under another subject",
		`select event_id from app.sunk as k where fault = '' and not exists (
			select from app.outbox as e where e.id::text = k.event_id and e.subject = k.subject)`},
	{isPhantom, "deliveries on record as taken that the receiver did not take",
		`select d.event_id || ' ' || p.description from postbus.webhook_deliveries as d
		join postbus.webhook_endpoints as p on p.id = d.endpoint_id
		where d.state = 'delivered' and not exists (
			select from app.sunk as k where k.event_id = d.event_id::text and k.endpoint = p.description and k.status = 200)`},

	{isOff, "jobs that are not completed",
		`select id || ' ' || kind || ' ' || state from postbus.river_job
		where kind in ('ledger', 'wide', 'flaky', 'labels', 'webhook.fanout') and state <> 'completed'`},
	{isOff, "deliveries that are not delivered",
		`select event_id || ' ' || state || ' ' || coalesce(reason, '') from postbus.webhook_deliveries where state <> 'delivered'`},
	{isOff, "delivered deliveries without a successful attempt on record",
		`select d.event_id || ' ' || d.endpoint_id from postbus.webhook_deliveries as d where d.state = 'delivered' and not exists (
			select from postbus.webhook_attempts as a where a.delivery_id = d.id and a.status = 200)`},
	{isOff, "jobs of ledger more or fewer than events",
		`select 'jobs ' || j.n || ', events ' || e.n from (select count(*) as n from postbus.river_job where kind = 'ledger') as j,
		(select count(*) as n from app.outbox) as e where j.n <> e.n`},
	{isOff, "runs of ledger that no attempt of its job accounts for",
		`select h.event_id::text || ' ran ' || h.times || ', attempts ' || j.attempt from app.handled as h
		join postbus.river_job as j on j.kind = h.subscriber and j.args ->> 'event_id' = h.event_id::text
		where h.subscriber = 'ledger' and h.times > j.attempt`},
	{isOff, "runs that are not in the sum of a handled event",
		`select h.event_id || ' ' || h.subscriber from app.handled as h
		join (select event_id, subscriber, count(*) as n from app.runs group by 1, 2) as r using (event_id, subscriber) where r.n <> h.times`},
}

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

// settleSQL makes the comparisons quick: copies what they read most, and tells the planner of what there is.
const settleSQL = `create table app.outbox as select * from app.all_events;
	create index on app.outbox (id); create index on app.outbox (subject); create index on app.sunk (event_id); create index on app.labels (event_id);
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
