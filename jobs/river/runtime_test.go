package river_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/river"
)

// start starts a runtime on the pool and stops it at the end of the test.
func start(t *testing.T, pool *pgxpool.Pool, cfg river.Config) *river.Runtime {
	t.Helper()
	cfg.Log = testdb.Logged(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	r, err := river.New(pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return r
}

func reaches(t *testing.T, r *river.Runtime, id jobs.JobID, want jobs.State) jobs.Job {
	t.Helper()
	var job jobs.Job
	wait.Eventually(t, 10*time.Second, func() (bool, string) {
		var err error
		if job, err = r.Inspector().Get(t.Context(), id); err != nil {
			return false, err.Error()
		}
		return job.State == want, string(job.State)
	})
	return job
}

func TestRunsAndRecords(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	r := start(t, testdb.New(t), river.Config{Kinds: []jobs.Kind{
		{Name: "echo", Receipt: true, Handle: func(_ context.Context, args json.RawMessage) error { seen <- string(args); return nil }},
		{Name: "fails", MaxAttempts: 2, Backoff: jobs.Steps(time.Millisecond), Handle: func(context.Context, json.RawMessage) error { return errors.New("no luck") }},
		{Name: "panics", MaxAttempts: 1, Handle: func(context.Context, json.RawMessage) error { panic("boom") }},
	}})
	id, err := r.Enqueue(t.Context(), "echo", map[string]any{"a": 1e21}, jobs.EnqueueOpts{Owner: "o"})
	if err != nil {
		t.Fatal(err)
	}
	if got := <-seen; got != `{"a":1e+21}` {
		t.Errorf("args = %s", got)
	}
	if state, ok := r.Wait(t.Context(), id, 5*time.Second); state != jobs.Completed || !ok {
		t.Errorf("Wait = %s, %v", state, ok)
	}
	ids, err := r.EnqueueMany(t.Context(), []jobs.EnqueueParams{{Kind: "fails", Args: map[string]any{}}, {Kind: "panics", Args: map[string]any{}}})
	if err != nil {
		t.Fatal(err)
	}
	if job := reaches(t, r, ids[0], jobs.Discarded); len(job.Errors) != 2 || job.Attempt != 2 {
		t.Errorf("job = %+v", job)
	}
	if job := reaches(t, r, ids[1], jobs.Discarded); len(job.Errors) != 1 || job.Errors[0].Stack == "" {
		t.Errorf("job = %+v", job)
	}
}
