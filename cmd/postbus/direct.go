package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/user"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/ops"
	opscli "github.com/postbus/postbus/ops/cli"
	"github.com/postbus/postbus/pg"
)

// background is for what lives as long as the process.
func background() context.Context { return context.Background() }

// directly opens databases for operations without a server.
type directly struct{ env environment }

// open is opscli.Config.OpenDatabase.
func (d *directly) open(ctx context.Context, address string) (opscli.Caller, func(), error) {
	l := loader{env: d.env}
	cfg, err := l.load(nil)
	if err != nil {
		return nil, nil, err
	}
	pool, err := newPool(address)
	if err != nil {
		return nil, nil, err
	}
	registry, err := d.registry(ctx, pool, cfg)
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	return opscli.Direct{Registry: registry, Who: ops.Local(userName())}, pool.Close, nil
}

func (d *directly) registry(ctx context.Context, pool *pgxpool.Pool, cfg settings) (*ops.Registry, error) {
	if err := migrated(ctx, pool); err != nil {
		return nil, err
	}
	// Errors only: what the pool's size means for a bus is no matter of one call.
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	_, registry, err := compose(pool, cfg, log)
	return registry, err
}

// migrated refuses a database that lacks tables.
func migrated(ctx context.Context, pool *pgxpool.Pool) error {
	status, err := pg.ReadStatus(ctx, pool)
	if err != nil {
		return unreachable(err)
	}
	if n := len(status.Pending); n > 0 {
		return &ops.Error{Code: ops.Conflict, Message: fmt.Sprintf("the database lacks %d migrations: run postbus migrate up first", n)}
	}
	return nil
}

// unreachable says why a database does not answer.
func unreachable(err error) error {
	return &ops.Error{Code: ops.Unavailable, Message: "the database does not answer: " + innermost(err)}
}

// userName is who runs the program, for the audit log.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return fmt.Sprintf("uid-%d", os.Getuid())
}

// innermost is the last cause of an error: what the system or the server said, without addresses and users.
func innermost(err error) string {
	for {
		var next error
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			next = e.Unwrap()
		case interface{ Unwrap() []error }:
			if all := e.Unwrap(); len(all) > 0 {
				next = all[len(all)-1]
			}
		}
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
