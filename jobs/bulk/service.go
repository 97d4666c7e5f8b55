package bulk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/dbsqlc/bulksql"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// Kind is the kind of job that does acts.
const Kind = "postbus.bulk"

const (
	attempts = 20
	// kept is how long an act can be read after its end.
	kept = 30 * 24 * time.Hour
)

// Service starts acts, shows them, and does them where its Kinds are declared.
type Service struct {
	pool    *pgxpool.Pool
	log     *slog.Logger
	runtime jobs.Runtime
}

// New makes a service that needs a runtime: see Bind. log defaults to slog.Default().
func New(pool *pgxpool.Pool, log *slog.Logger) *Service {
	if log == nil {
		log = slog.Default()
	}
	return &Service{pool: pool, log: log}
}

// Bind gives the service the runtime whose jobs it acts on. It must be called before anything else is.
func (s *Service) Bind(runtime jobs.Runtime) { s.runtime = runtime }

// Kinds are what a process declares that does acts. One that only starts and shows them need not.
func (s *Service) Kinds() []jobs.Kind {
	return []jobs.Kind{{
		Name: Kind, Queue: jobs.MaintenanceQueue, MaxAttempts: attempts, Handle: s.handle,
		Timeout: jobs.DefaultTimeout, Backoff: jobs.DefaultBackoff,
	}}
}

// Periodics are what such a process does by the clock: it forgets old acts, and ends those whose job is gone.
func (s *Service) Periodics() []jobs.Periodic {
	return []jobs.Periodic{{Name: "bulk.tidy", Every: 5 * time.Minute, Run: s.tidy}}
}

func queries(db pg.DBTX) *bulksql.Queries { return bulksql.New(db) }

// Check answers the spec with its states filled in, or why it cannot be done.
func (s *Service) Check(spec Spec) (Spec, error) {
	if !slices.Contains([]Verb{Retry, Cancel, Acknowledge}, spec.Verb) {
		return spec, fmt.Errorf("%w: bulk act %q: use %s, %s or %s", jobs.ErrInvalid, spec.Verb, Retry, Cancel, Acknowledge)
	}
	asked := spec.Filter.States
	for _, state := range asked {
		if !slices.Contains(jobs.States(), state) {
			return spec, fmt.Errorf("%w: state %q: use %v", jobs.ErrInvalid, state, jobs.States())
		}
	}
	spec.Filter.Cursor, spec.Filter.Limit = "", 0
	spec.Filter.States = spec.Verb.States(asked)
	if len(spec.Filter.States) == 0 {
		return spec, fmt.Errorf("%w: %s changes no job that is %v: leave the states out, or name some of %v",
			jobs.ErrInvalid, spec.Verb, asked, spec.Verb.States(jobs.States()))
	}
	if spec.Verb == Acknowledge {
		spec.Filter.Unacked = true
	}
	return spec, nil
}

// Count answers how many jobs the act would come by if it began now.
func (s *Service) Count(ctx context.Context, spec Spec) (jobs.Count, error) {
	spec, err := s.Check(spec)
	if err != nil {
		return jobs.Count{}, err
	}
	return s.runtime.Inspector().Count(ctx, spec.Filter)
}

// Start begins an act when tx commits.
func (s *Service) Start(ctx context.Context, tx pgx.Tx, spec Spec) (Act, error) {
	spec, err := s.Check(spec)
	if err != nil {
		return Act{}, err
	}
	matched, err := s.runtime.Inspector().With(tx).Count(ctx, spec.Filter)
	if err != nil {
		return Act{}, err
	}
	filter, err := storedFilter(spec.Filter)
	if err != nil {
		return Act{}, fmt.Errorf("%w: filter: %w", jobs.ErrInvalid, err)
	}
	row, err := queries(tx).InsertAct(ctx, bulksql.InsertActParams{
		Act: string(spec.Verb), Filter: filter, OwnerID: spec.Filter.Owner, Who: spec.Who, Matched: matched.N, About: matched.About,
	})
	if err != nil {
		return Act{}, fmt.Errorf("start a bulk act: %w", err)
	}
	// The process that starts an act need not be one that does acts, so it says all that the kind would. The job has no owner:
	// an owner who cancels all jobs does not mean the ones that do so.
	job, err := s.runtime.With(tx).Enqueue(ctx, Kind, args{ActID: row.ID}, jobs.EnqueueOpts{
		Queue: jobs.MaintenanceQueue, MaxAttempts: attempts,
	})
	if err != nil {
		return Act{}, fmt.Errorf("start bulk act %s: %w", row.ID, err)
	}
	id := string(job)
	if err := queries(tx).SetActJob(ctx, bulksql.SetActJobParams{ID: row.ID, JobID: id}); err != nil {
		return Act{}, fmt.Errorf("start bulk act %s: %w", row.ID, err)
	}
	row.JobID = &id
	return actOf(row)
}

// Stop ends an act when tx commits: the chunk that is under way ends first, what was changed stays. One that has ended is left
// as it is.
func (s *Service) Stop(ctx context.Context, tx pgx.Tx, id string) (Act, error) {
	if _, err := read(ctx, tx, id); err != nil {
		return Act{}, err
	}
	if err := queries(tx).StopAct(ctx, bulksql.StopActParams{ID: id}); err != nil {
		return Act{}, fmt.Errorf("stop bulk act %s: %w", id, err)
	}
	return read(ctx, tx, id)
}

// Get answers one act as it stands.
func (s *Service) Get(ctx context.Context, id string) (Act, error) { return read(ctx, s.pool, id) }

func read(ctx context.Context, db pg.DBTX, id string) (Act, error) {
	if !isUUID(id) {
		return Act{}, fmt.Errorf("%w: %q is not the id of one (a UUID)", ErrNotFound, id)
	}
	row, err := queries(db).ActByID(ctx, bulksql.ActByIDParams{ID: id})
	if errors.Is(err, pgx.ErrNoRows) {
		return Act{}, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	if err != nil {
		return Act{}, fmt.Errorf("read bulk act %s: %w", id, err)
	}
	return actOf(row)
}
