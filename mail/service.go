package mail

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/dbsqlc/mailsql"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/mail/internal/letter"
	"github.com/postbus/postbus/mail/internal/smtp"
	"github.com/postbus/postbus/pg"
)

// Service is the mail of one process.
type Service struct {
	cfg    Config
	pool   *pgxpool.Pool
	tx     pgx.Tx       // nil outside With
	sender *smtp.Sender // nil without a server
	from   letter.Address
	bus    *events.Bus
	jobs   jobs.Runtime
	// unsent logs once that there is no server.
	unsent *sync.Once
}

// New checks the configuration. Nothing touches the database or the server yet.
func New(pool *pgxpool.Pool, cfg Config) (*Service, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Service{cfg: cfg, pool: pool, unsent: &sync.Once{}}
	if s.sender, s.from, err = cfg.sender(); err != nil {
		return nil, err
	}
	return s, checkDeclared(cfg)
}

// Bind gives the service the bus whose events it mails and the runtime in which its jobs are made. It must be called before Start.
func (s *Service) Bind(bus *events.Bus, runtime jobs.Runtime) {
	s.bus, s.jobs = bus, runtime
	bus.Retain(s)
}

// Start writes the rules that Config declares. The jobs do the rest.
func (s *Service) Start(ctx context.Context) error {
	if s.bus == nil {
		return errors.New("mail: Bind a bus and a runtime before Start")
	}
	return errors.Join(s.present(ctx), s.declare(ctx))
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

func queries(db pg.DBTX) *mailsql.Queries { return mailsql.New(db) }
