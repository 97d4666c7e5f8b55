package river

import (
	"context"
	"slices"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// insert gathers the columns of one InsertJobs. Entries with the same unique key share a row: one statement cannot meet
// its own insert as a conflict.
type insert struct {
	params riversql.InsertJobsParams
	byKey  map[string]int
	now    time.Time
	ready  []string // queues with a job that may run now
	ran    bool     // of some the first attempt was made elsewhere
	again  []due    // those of them that run again soon
}

// due is in how long a queue has something to fetch.
type due struct {
	queue string
	in    time.Duration
}

func newInsert(size int) *insert {
	return &insert{
		byKey: map[string]int{},
		now:   time.Now(),
		params: riversql.InsertJobsParams{
			Ords: make([]int32, 0, size), Kinds: make([]string, 0, size), Args: make([]string, 0, size),
			Metadata: make([]string, 0, size), Queues: make([]string, 0, size), MaxAttempts: make([]int32, 0, size),
			RunAts: make([]time.Time, 0, size), UniqueKeys: make([][]byte, 0, size), Wake: []string{},
			Verdicts: make([]string, 0, size), WaitUs: make([]int64, 0, size), Errors: make([]string, 0, size), Traces: make([]string, 0, size),
		},
	}
}

// add answers the place of the job's row.
func (i *insert) add(job newJob) int {
	place := len(i.params.Ords)
	if job.uniqueKey != nil {
		if first, ok := i.byKey[string(job.uniqueKey)]; ok {
			return first
		}
		i.byKey[string(job.uniqueKey)] = place
	}
	p := &i.params
	p.Ords = append(p.Ords, int32(place))
	p.Kinds = append(p.Kinds, job.kind)
	p.Args = append(p.Args, job.args)
	p.Metadata = append(p.Metadata, job.metadata)
	p.Queues = append(p.Queues, job.queue)
	p.MaxAttempts = append(p.MaxAttempts, int32(job.maxAttempts))
	p.RunAts = append(p.RunAts, job.runAt)
	p.UniqueKeys = append(p.UniqueKeys, job.uniqueKey)
	p.Verdicts = append(p.Verdicts, job.ran.verdict)
	p.WaitUs = append(p.WaitUs, job.ran.wait.Microseconds())
	p.Errors = append(p.Errors, job.ran.err)
	p.Traces = append(p.Traces, job.ran.trace)
	if job.ran.verdict != "" {
		i.ran = true
		i.again = append(i.again, due{job.queue, job.ran.wait})
		return place
	}
	// The clocks may differ: a job that is due by either may run now. The notification is a hint.
	if !job.runAt.After(i.now.Add(time.Second)) && !slices.Contains(i.ready, job.queue) {
		i.ready = append(i.ready, job.queue)
	}
	return place
}

// save writes the rows in one round trip and answers each one's id by its place. Without a unique key nothing can conflict, and
// where nothing ran before either the simpler statement serves, whose plan does not depend on its values.
func (i *insert) save(ctx context.Context, to store) ([]jobs.JobID, error) {
	ids := make([]jobs.JobID, len(i.params.Ords))
	if len(i.byKey) > 0 || i.ran {
		answers, err := ask(ctx, to, (*riversql.Queries).InsertJobs, i.params)
		for _, answer := range answers {
			ids[answer.Ord] = jobID(answer.ID)
		}
		return ids, err
	}
	p := i.params
	return ids, to.do(ctx, func(ctx context.Context, db pg.DBTX) error {
		answers, err := riversql.New(db).InsertPlainJobs(ctx, riversql.InsertPlainJobsParams{
			Ords: p.Ords, Kinds: p.Kinds, Args: p.Args, Metadata: p.Metadata, Queues: p.Queues, MaxAttempts: p.MaxAttempts,
			RunAts: p.RunAts, Wake: p.Wake,
		})
		for _, answer := range answers {
			ids[answer.Ord] = jobID(answer.ID)
		}
		return err
	})
}
