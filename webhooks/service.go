package webhooks

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
	"github.com/postbus/postbus/internal/tracing"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
	"github.com/postbus/postbus/webhooks/internal/guard"
	"github.com/postbus/postbus/webhooks/internal/seal"
)

// Service is the webhooks of one process.
type Service struct {
	cfg    Config
	pool   *pgxpool.Pool
	tx     pgx.Tx // nil outside With
	ring   *seal.Ring
	client *guard.Client
	bus    *events.Bus
	jobs   jobs.Runtime
	clerk  *clerk
	poller *poller
	// setbacks is shared by the lanes of this process.
	setbacks *setbacks
}

// New checks the configuration. Nothing touches the database yet.
func New(pool *pgxpool.Pool, cfg Config) (*Service, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Service{cfg: cfg, pool: pool, setbacks: &setbacks{}}
	if s.ring, err = cfg.ring(); err != nil {
		return nil, err
	}
	if s.client, err = guard.New(cfg.guard()); err != nil {
		return nil, fmt.Errorf("%w: webhooks: %w", ErrInvalid, err)
	}
	s.clerk = newClerk(s)
	s.poller = newPoller(s)
	return s, nil
}

// Bind gives the service the bus whose events it delivers and the runtime in which its jobs are made. It must be called before
// Start.
func (s *Service) Bind(bus *events.Bus, runtime jobs.Runtime) {
	s.bus, s.jobs = bus, runtime
	bus.Retain(s)
}

// Start checks the keys against what is sealed in the database, and begins to look for what falls due.
func (s *Service) Start(ctx context.Context) error {
	if s.bus == nil {
		return errors.New("webhooks: Bind a bus and a runtime before Start")
	}
	if err := s.checkKeys(ctx); err != nil {
		return err
	}
	ctx = tracing.Detach(ctx) // what is done from now on is not part of the start
	s.clerk.start(ctx)
	s.poller.start(ctx)
	return nil
}

// StopPolling ends the search for due deliveries; lanes that run go on.
func (s *Service) StopPolling() { s.poller.stop() }

// Stop ends what Start began; the runtime, whose jobs use it, must have stopped. Never started and twice are fine.
func (s *Service) Stop() {
	s.poller.stop()
	s.clerk.stop()
	s.client.Close()
}

// With answers a Service whose operations read and write through tx, so that an act and its audit row commit together.
func (s *Service) With(tx pgx.Tx) *Service {
	within := *s
	within.tx = tx
	return &within
}

// within runs fn in the caller's transaction, or in one of its own.
func (s *Service) within(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx) error) error {
	if s.tx != nil {
		return fn(ctx, s.tx)
	}
	return pg.InTx(ctx, s.pool, fn)
}

// db is what single reads go through.
func (s *Service) db() pg.DBTX {
	if s.tx != nil {
		return s.tx
	}
	return s.pool
}

func queries(db pg.DBTX) *webhooksql.Queries { return webhooksql.New(db) }
