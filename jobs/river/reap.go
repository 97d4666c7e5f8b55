package river

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	riverqueue "github.com/riverqueue/river"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/internal/instance"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/internal/measure"
)

const (
	// A handler that heeds its context is back long before: who is not has lost its run.
	overdueAfter = 10 * time.Second
	promoteMost  = 1000
)

// reaper gives lost runs back, cancels what is asked to be, and makes parked jobs available before they fall due.
type reaper struct {
	queries   *riversql.Queries
	store     store
	self      *instance.Instance
	deadAfter time.Duration
	flights   *flights
	waker     *waker
	ear       *ear
	measures  *measure.Measures
	kinds     []string // those that have a timeout
	limitsUs  []int64
	log       *slog.Logger
	ticker    loop.Ticker
}

func newReaper(r *reaper, cfg Config, kinds map[string]*kind) *reaper {
	r.log = cfg.Log
	r.kinds, r.limitsUs = []string{}, []int64{}
	for name, k := range kinds {
		if k.Timeout > 0 && !k.External {
			r.kinds = append(r.kinds, name)
			r.limitsUs = append(r.limitsUs, (k.Timeout + overdueAfter).Microseconds())
		}
	}
	r.ticker = loop.Ticker{
		Name: "reaper", Interval: cfg.ReapEvery, Once: r.once, Log: cfg.Log,
		BackoffBase: cfg.ReapEvery, BackoffMax: 4 * cfg.ReapEvery,
	}
	return r
}

// once makes one pass. Each part goes on where another fails.
func (r *reaper) once(ctx context.Context) error {
	return errors.Join(r.own(ctx), r.promote(ctx), r.overdue(ctx), r.lost(ctx), r.leases(ctx), r.pauses(ctx))
}

// own compares what the database says that this instance runs with what it does run. A run that nobody here knows of was
// fetched by a statement whose answer never came; it never began and costs no attempt.
func (r *reaper) own(ctx context.Context) error {
	held, err := r.queries.ListHeldJobs(ctx, riversql.ListHeldJobsParams{Instance: r.self.ID()})
	if err != nil {
		return fmt.Errorf("list the instance's runs: %w", err)
	}
	strays := taking{begun: false}
	for _, row := range held {
		key := keyOf(row.ID, row.AttemptedAt)
		switch {
		case r.flights.holds(key):
			if row.CancelAsked {
				r.flights.ask(key, riverqueue.ErrJobCancelledRemotely)
			}
		case row.SettledIn:
			strays.add(row.ID, row.Attempt, row.AttemptedAt, "")
		}
	}
	return r.take(ctx, strays, "the fetch's answer was lost")
}

// promote plans a look at each job that it makes available.
func (r *reaper) promote(ctx context.Context) error {
	for {
		rows, err := ask(ctx, r.store, (*riversql.Queries).PromoteJobs, riversql.PromoteJobsParams{Most: promoteMost})
		if err != nil {
			return fmt.Errorf("make due jobs available: %w", err)
		}
		now := time.Now()
		for _, row := range rows {
			r.waker.at(row.Queue, now.Add(time.Duration(row.DueInUs)*time.Microsecond+time.Millisecond))
		}
		if len(rows) < promoteMost {
			return nil
		}
	}
}

// overdue gives back runs of declared kinds that ignore their timeout, wherever they run.
func (r *reaper) overdue(ctx context.Context) error {
	rows, err := r.queries.ListOverdueJobs(ctx, riversql.ListOverdueJobsParams{Kinds: r.kinds, LimitsUs: r.limitsUs})
	if err != nil {
		return fmt.Errorf("list overdue runs: %w", err)
	}
	taken := taking{begun: true}
	for _, row := range rows {
		r.flights.ask(keyOf(row.ID, row.AttemptedAt), errTakenBack)
		taken.add(row.ID, row.Attempt, row.AttemptedAt, "the run exceeded its kind's timeout and did not end")
	}
	return r.take(ctx, taken, "overdue")
}

// lost gives back the runs of dead instances. After an outage everybody's heartbeat is old: an instance judges others only
// when its own has been steady for as long as death takes.
func (r *reaper) lost(ctx context.Context) error {
	if r.self.Steady() < r.deadAfter {
		return nil
	}
	rows, err := r.queries.ListLostJobs(ctx, riversql.ListLostJobsParams{DeadAfterUs: r.deadAfter.Microseconds()})
	if err != nil {
		return fmt.Errorf("list the runs of dead instances: %w", err)
	}
	taken := taking{begun: true}
	for _, row := range rows {
		taken.add(row.ID, row.Attempt, row.AttemptedAt, fmt.Sprintf("instance %s died", row.Instance))
	}
	return r.take(ctx, taken, "instance died")
}

// leases gives back what workers of external kinds did not settle in time. Claims do so too; this is for kinds that nobody claims.
func (r *reaper) leases(ctx context.Context) error {
	rows, err := endLeases(ctx, r.store)
	if err != nil {
		return fmt.Errorf("end leases: %w", err)
	}
	for _, row := range rows {
		r.log.WarnContext(ctx, "lease ended", "job", row.ID, "kind", row.Kind, "attempt", row.Attempt, "state", row.State)
		tellEnd(r.measures, row.Kind, failed, row.State, measure.Unknown, measure.Unknown)
	}
	return nil
}

// pauses tells the producers what the database says of their queues, where LISTEN does not.
func (r *reaper) pauses(ctx context.Context) error {
	if err := r.queries.KeepQueues(ctx); err != nil {
		return fmt.Errorf("keep the marks of paused queues: %w", err)
	}
	if r.ear == nil || r.ear.hears() {
		return nil
	}
	// Twice: what was read may be stale when it is told, and the second look puts it right.
	for range 2 {
		paused, err := r.queries.ListPausedQueues(ctx)
		if err != nil {
			return fmt.Errorf("list paused queues: %w", err)
		}
		for queue := range r.ear.queues {
			if slices.Contains(paused, queue) {
				r.ear.control(command{pauseAction, queue})
			} else {
				r.ear.control(command{resumeAction, queue})
			}
		}
	}
	return nil
}

// taking is a set of runs to give back.
type taking struct {
	begun bool
	rows  riversql.TakeBackJobsParams
}

func (t *taking) add(id int64, attempt int16, attemptedAt *time.Time, reason string) {
	if attemptedAt == nil {
		return
	}
	t.rows.Ids = append(t.rows.Ids, id)
	t.rows.Attempts = append(t.rows.Attempts, int32(attempt))
	t.rows.AttemptedAts = append(t.rows.AttemptedAts, *attemptedAt)
	t.rows.Errors = append(t.rows.Errors, reason)
}

func (r *reaper) take(ctx context.Context, t taking, why string) error {
	if len(t.rows.Ids) == 0 {
		return nil
	}
	t.rows.Begun = t.begun
	rows, err := ask(ctx, r.store, (*riversql.Queries).TakeBackJobs, t.rows)
	if err != nil {
		return fmt.Errorf("give back runs (%s): %w", why, err)
	}
	for _, row := range rows {
		r.log.WarnContext(ctx, "run given back", "why", why, "job", row.ID, "kind", row.Kind, "attempt", row.Attempt, "state", row.State)
		if t.begun || row.State != stateAvailable { // one that never began costs no attempt
			tellEnd(r.measures, row.Kind, failed, row.State, measure.Unknown, measure.Unknown)
		}
	}
	return nil
}
