package river_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/instance"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/jobstest"
	"github.com/postbus/postbus/jobs/jobstest/faults"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/pg"
)

func TestConformance(t *testing.T) { jobstest.Run(t, harness()) }

// The suite can fail: each fault that is seeded into this adapter is caught by the case that names it.
func TestConformanceCatchesFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	faults.Run(t, harness())
}

func harness() jobstest.Harness {
	return jobstest.Harness{
		Database: func(t testing.TB) *pgxpool.Pool { return testdb.New(t) },
		New: func(t testing.TB, pool *pgxpool.Pool, spec jobstest.Spec) (jobs.Runtime, error) {
			log := testdb.Logged(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
			self := instance.New(pool, instance.Config{
				ID: spec.Instance, App: spec.App, Every: time.Second, DeadAfter: 4 * time.Second, Log: log,
			})
			listener := pg.NewListener(pool, pg.ListenerConfig{Log: log})
			runtime, err := river.New(pool, river.Config{
				App: spec.App, Instance: self, Kinds: spec.Kinds, Periodics: spec.Periodics, Queues: spec.Queues,
				StopGrace: spec.Grace, Listener: listener, ReapEvery: 500 * time.Millisecond, FetchPoll: 200 * time.Millisecond, Log: log,
			})
			return process{Runtime: runtime, self: self, listener: listener}, err
		},
	}
}

// process starts and stops a runtime together with its instance, as a program does.
type process struct {
	*river.Runtime
	self     *instance.Instance
	listener *pg.Listener
}

func (p process) Start(ctx context.Context) error {
	if err := errors.Join(p.listener.Start(context.WithoutCancel(ctx)), p.self.Start(ctx)); err != nil {
		return err
	}
	return p.Runtime.Start(ctx)
}

func (p process) Stop(ctx context.Context) error {
	defer p.listener.Stop()
	return errors.Join(p.Runtime.Stop(ctx), p.self.Stop(ctx))
}
