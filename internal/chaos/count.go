package chaos

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Counts are what there was, all in all.
type Counts struct {
	Committed     int `json:"committed"` // business rows
	RolledBack    int `json:"rolled_back"`
	Unknown       int `json:"unknown"` // the writer lost its connection at the commit
	UnknownThere  int `json:"unknown_there"`
	Events        int `json:"events"`
	Retired       int `json:"retired"` // of them removed by retention
	Jobs          int `json:"jobs"`
	WideJobs      int `json:"wide_jobs"`
	Handled       int `json:"handled"`
	HandledAgain  int `json:"handled_again"`
	Labels        int `json:"labels"`
	Requests      int `json:"requests"` // that the receiver of webhooks got whole
	Taken         int `json:"taken"`
	TakenAgain    int `json:"taken_again"`
	Deliveries    int `json:"deliveries"` // that retention has left
	AttemptsKept  int `json:"attempts"`
	JobsWithError int `json:"jobs_with_error"`
}

const countSQL = `select
	(select count(*) from app.business), (select count(*) from app.journal where outcome = 'rolled back'),
	(select count(*) from app.journal where outcome = 'unknown'),
	(select count(*) from app.journal as j join app.business as b using (id) where j.outcome = 'unknown'),
	(select count(*) from app.outbox), (select count(*) from app.retired where type like 'order.%'),
	(select count(*) from postbus.river_job where kind in ('ledger', 'wide', 'flaky', 'labels', 'webhook.fanout')),
	(select count(*) from postbus.river_job where kind = 'wide' and args ? 'first_seq'),
	(select count(*) from app.handled), (select coalesce(sum(times - 1), 0) from app.handled),
	(select count(*) from app.labels), (select count(*) from app.sunk),
	(select count(*) from app.sunk where status = 200),
	(select count(*) - count(distinct (event_id, endpoint)) from app.sunk where status = 200),
	(select count(*) from postbus.webhook_deliveries), (select count(*) from postbus.webhook_attempts),
	(select count(*) from postbus.river_job where cardinality(errors) > 0)`

func (w *world) count(ctx context.Context, r *Report) (err error) {
	rows, err := w.admin.Query(ctx, countSQL)
	if err != nil {
		return err
	}
	r.Counts, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Counts])
	return err
}

// recoveries finds, for each fault, the first event that was handled after its end by whom it hit.
func (w *world) recoveries(ctx context.Context, r *Report) error {
	all, err := w.moments(ctx, r.Began, `select at, process from app.runs order by at`)
	if err != nil {
		return err
	}
	labelled, err := w.moments(ctx, r.Began, `select at, worker from app.labels order by at`)
	if err != nil {
		return err
	}
	var taken []moment
	for _, t := range w.sink.log() {
		if t.status == 200 {
			taken = append(taken, moment{t.at.Sub(r.Began), ""})
		}
	}
	byBus := map[string][]moment{}
	for _, m := range all {
		byBus[m.who] = append(byBus[m.who], m)
		r.Handled = append(r.Handled, m.at)
	}
	hits := map[string]victim{}
	for _, k := range allKinds(true) {
		hits[k.name] = k.hits
	}
	for i := range r.Faults {
		f := &r.Faults[i]
		if f.Error != "" {
			continue
		}
		seen := all
		switch hits[f.Kind] {
		case oneBus:
			seen = byBus[w.buses[f.Target].spec.Name]
		case theWorker:
			seen = labelled
		case theSink:
			seen = taken
		}
		f.Recovered = after(seen, f.Ended)
	}
	return nil
}

// moment is when something was done, and by whom.
type moment struct {
	at  time.Duration
	who string
}

func (w *world) moments(ctx context.Context, began time.Time, sql string) ([]moment, error) {
	rows, err := w.admin.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (m moment, err error) {
		var at time.Time
		err = row.Scan(&at, &m.who)
		m.at = at.Sub(began)
		return m, err
	})
}

// after answers how long after the time the first of the moments came; nil where none did.
func after(moments []moment, end time.Duration) *time.Duration {
	at, _ := slices.BinarySearchFunc(moments, end, func(m moment, end time.Duration) int { return cmp.Compare(m.at, end) })
	if at == len(moments) {
		return nil
	}
	passed := moments[at].at - end
	return &passed
}
