package peer

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/oagudo/outbox"

	"github.com/postbus/postbus/bench/internal/rig"
)

// outboxSchema is the one of the module's README.
const outboxSchema = `
create table outbox (
    id uuid primary key, created_at timestamptz not null, scheduled_at timestamptz not null, metadata bytea,
    payload bytea not null, times_attempted integer not null
);
create index idx_outbox_created_at on outbox (created_at);
create index idx_outbox_scheduled_at on outbox (scheduled_at)`

const outboxVersion = "v1.0.1"

func outboxEach() System {
	return System{
		Name: "outbox", open: openOutbox(false),
		Setup: Setup{
			Title: "oagudo/outbox, a message per subscriber", Version: outboxVersion, Durable: true,
			How: "one reader, read and delete batches of 1,000, interval 10 ms; all subscribers wait for a slow one",
		},
	}
}

func outboxShared() System {
	return System{
		Name: "outbox_shared", open: openOutbox(true),
		Setup: Setup{
			Title: "oagudo/outbox, one message for all", Version: outboxVersion,
			How: "the same; the publisher calls every subscriber, so where one fails all are called again",
		},
	}
}

func openOutbox(shared bool) func(context.Context, *rig.Database, int) (Instance, error) {
	return func(ctx context.Context, db *rig.Database, subscribers int) (Instance, error) {
		if _, err := db.Pool.Exec(ctx, outboxSchema); err != nil {
			return nil, err
		}
		o := &outboxTable{db: db, subscribers: subscribers, shared: shared}
		o.writer = outbox.NewWriter(outbox.NewDBContext(stdlib.OpenDBFromPool(db.Pool), outbox.SQLDialectPostgres)).Unmanaged()
		return o, nil
	}
}

type outboxTable struct {
	db          *rig.Database
	subscribers int
	shared      bool
	writer      *outbox.UnmanagedWriter
}

func (o *outboxTable) Record(ctx context.Context, tx pgx.Tx, _ int, data []byte) error {
	if o.shared {
		return o.writer.Store(ctx, storing{tx: tx}, outbox.NewMessage(data))
	}
	for s := range o.subscribers {
		if err := o.writer.Store(ctx, storing{tx: tx}, outbox.NewMessage(data, outbox.WithMetadata([]byte(subscriber(s))))); err != nil {
			return err
		}
	}
	return nil
}

func (o *outboxTable) Start(ctx context.Context, handled Handled) (func(context.Context) error, error) {
	pool, err := o.db.NewPool(ctx, conns)
	if err != nil {
		return nil, err
	}
	reader := outbox.NewReader(outbox.NewDBContext(stdlib.OpenDBFromPool(pool), outbox.SQLDialectPostgres), publisher{o, handled},
		outbox.WithInterval(10*time.Millisecond), outbox.WithReadBatchSize(1000), outbox.WithDeleteBatchSize(1000))
	reader.Start()
	return reader.Stop, nil
}

type publisher struct {
	table   *outboxTable
	handled Handled
}

// Publish hands a message to its subscriber, or to all.
func (p publisher) Publish(_ context.Context, m *outbox.Message) error {
	if !p.table.shared {
		p.handled(subscriberOf(string(m.Metadata)), numberOf(m.Payload))
		return nil
	}
	for s := range p.table.subscribers {
		p.handled(s, numberOf(m.Payload))
	}
	return nil
}

// storing is a pgx transaction as the module's writer wants one, which only executes.
type storing struct {
	outbox.TxQueryer
	tx pgx.Tx
}

// ExecContext executes one statement.
func (s storing) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	tag, err := s.tx.Exec(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	if tag.RowsAffected() == 0 {
		return nil, errors.New("outbox: nothing was stored")
	}
	return driver.RowsAffected(tag.RowsAffected()), nil
}
