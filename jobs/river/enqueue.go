package river

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/tracing"
	"github.com/postbus/postbus/jobs"
)

// enqueuer makes jobs through the pool, or through a transaction.
type enqueuer struct {
	kinds map[string]*kind
	waker *waker
	store store
}

var _ jobs.Jobs = (*enqueuer)(nil)

func (e *enqueuer) With(tx pgx.Tx) jobs.Jobs {
	within := *e
	within.store = e.store.within(tx)
	return &within
}

func (e *enqueuer) Enqueue(ctx context.Context, kind string, args any, opts jobs.EnqueueOpts) (jobs.JobID, error) {
	ids, err := e.EnqueueMany(ctx, []jobs.EnqueueParams{{Kind: kind, Args: args, Opts: opts}})
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

func (e *enqueuer) EnqueueMany(ctx context.Context, batch []jobs.EnqueueParams) ([]jobs.JobID, error) {
	if len(batch) == 0 {
		return nil, nil
	}
	rows := newInsert(len(batch))
	places := make([]int, len(batch)) // of each entry among the rows
	trace := tracing.Of(ctx)
	for i, entry := range batch {
		entry.Opts.Trace = cmp.Or(entry.Opts.Trace, trace)
		row, err := e.row(entry)
		if err != nil {
			return nil, inBatch(err, i, len(batch))
		}
		places[i] = rows.add(row)
	}
	var saved []string
	rows.params.Wake, saved = e.waker.allow(rows.ready)
	byPlace, err := rows.save(ctx, e.store)
	if err != nil {
		return nil, fmt.Errorf("enqueue %s: %w", naming(batch), err)
	}
	ids := make([]jobs.JobID, len(batch))
	for i, place := range places {
		ids[i] = byPlace[place]
	}
	e.waker.soon(saved)
	for _, d := range rows.again {
		e.waker.at(d.queue, rows.now.Add(d.in+lateLook))
	}
	return ids, nil
}

func inBatch(err error, place, size int) error {
	if size == 1 {
		return err
	}
	return fmt.Errorf("entry %d of %d: %w", place, size, err)
}

func naming(batch []jobs.EnqueueParams) string {
	if len(batch) == 1 {
		return "a job of kind " + batch[0].Kind
	}
	return fmt.Sprintf("%d jobs, the first of kind %s", len(batch), batch[0].Kind)
}

// newJob is one job that is fit to be inserted.
type newJob struct {
	kind, args, metadata, queue string
	maxAttempts                 int
	runAt                       time.Time
	uniqueKey                   []byte
	ran                         outcome // of an attempt that was made elsewhere; without a verdict there was none
}

// metadata is what River's row has no column for. The keys cancel_attempted_at and snoozes are River's own.
type metadata struct {
	Owner          string     `json:"owner,omitempty"`
	Trace          string     `json:"trace,omitempty"`
	Args           string     `json:"args,omitempty"` // as written, where jsonb would respell a number
	Result         string     `json:"result,omitempty"`
	Snoozes        int        `json:"snoozes,omitempty"`
	AcknowledgedAt *time.Time `json:"acknowledged_at,omitempty"`
}

func (e *enqueuer) row(entry jobs.EnqueueParams) (newJob, error) {
	opts := entry.Opts
	if err := e.fill(entry.Kind, &opts); err != nil {
		return newJob{}, err
	}
	args, err := encodeArgs(entry.Kind, entry.Args)
	if err != nil {
		return newJob{}, err
	}
	if err := checkText("owner of kind "+entry.Kind, opts.Owner); err != nil {
		return newJob{}, err
	}
	if err := checkText("trace of kind "+entry.Kind, opts.Trace); err != nil {
		return newJob{}, err
	}
	row := newJob{
		kind: entry.Kind, args: args.text, queue: storedQueue(opts.Queue), maxAttempts: opts.MaxAttempts,
	}
	if row.runAt, err = runAt(entry.Kind, opts.RunAt); err != nil {
		return newJob{}, err
	}
	if opts.UniqueByArgs {
		if row.uniqueKey, err = uniqueKey(entry.Kind, args.text); err != nil {
			return newJob{}, err
		}
	}
	meta := metadata{Owner: opts.Owner, Trace: opts.Trace}
	if args.verbatim {
		meta.Args = args.text
	}
	if opts.Ran != nil {
		if row.ran, err = e.ran(entry.Kind, opts); err != nil {
			return newJob{}, err
		}
		if row.ran.verdict == snoozing {
			meta.Snoozes = 1
		}
	}
	encoded, err := json.Marshal(meta)
	row.metadata = string(encoded)
	return row, err
}

// fill completes the options from the kind's declaration.
func (e *enqueuer) fill(name string, opts *jobs.EnqueueOpts) error {
	if k, ok := e.kinds[name]; ok {
		if opts.Queue == "" {
			opts.Queue = k.Queue
		}
		if opts.MaxAttempts == 0 {
			opts.MaxAttempts = k.MaxAttempts
		}
	} else if opts.Queue == "" || opts.MaxAttempts == 0 {
		return fmt.Errorf("%w %q: this process does not declare it; declare it, or give Queue and MaxAttempts", jobs.ErrUnknownKind, name)
	}
	if err := jobs.CheckName("kind", name); err != nil {
		return err
	}
	if err := checkQueue(opts.Queue); err != nil {
		return fmt.Errorf("kind %q: %w", name, err)
	}
	return jobs.CheckMaxAttempts(name, opts.MaxAttempts)
}

// ran is what an attempt came to that was made elsewhere.
func (e *enqueuer) ran(name string, opts jobs.EnqueueOpts) (outcome, error) {
	if !opts.RunAt.IsZero() || opts.UniqueByArgs {
		return outcome{}, fmt.Errorf("%w: kind %q: Ran says when the job runs again and of what it is: leave out RunAt and UniqueByArgs",
			jobs.ErrInvalid, name)
	}
	ended := outcome{verdict: failed, err: opts.Ran.Error(), trace: jobs.StackOf(opts.Ran)}
	snooze, snoozed := jobs.SnoozedFor(opts.Ran)
	switch {
	case jobs.IsDiscard(opts.Ran):
		ended.verdict = discarded
	case snoozed:
		ended.verdict, ended.err, ended.wait = snoozing, "", snooze
	case e.kinds[name] != nil:
		ended.wait = e.kinds[name].Backoff(1)
	default:
		ended.wait = jobs.DefaultBackoff(1)
	}
	return ended.storable(), nil
}

// runAt answers at in whole microseconds, as Postgres keeps it: rounded up, so that the job is never early.
func runAt(kind string, at time.Time) (time.Time, error) {
	if at.IsZero() {
		return at, nil
	}
	if year := at.UTC().Year(); year < 1 || year > 9999 {
		return at, fmt.Errorf("%w: RunAt of kind %q is in the year %d; use 1 to 9999", jobs.ErrInvalid, kind, year)
	}
	return at.UTC().Add(time.Microsecond - 1).Truncate(time.Microsecond), nil
}
