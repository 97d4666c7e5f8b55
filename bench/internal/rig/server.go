package rig

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/devpg"
)

// Server is the Postgres of one run.
type Server struct {
	pg    *devpg.Server
	admin *pgxpool.Pool
}

// settings go to a server that would run in production on a small machine, but for its checkpoints.
func settings() devpg.Config {
	return devpg.Durable("").
		With("fsync", "on").
		With("synchronous_commit", "on").
		With("full_page_writes", "on").
		With("shared_buffers", "256MB").
		With("max_wal_size", "16GB").
		With("checkpoint_timeout", "1h")
}

// Start runs the server.
func Start(ctx context.Context) (*Server, error) {
	pg, err := devpg.Start(ctx, settings())
	if err != nil {
		return nil, err
	}
	admin, err := pgxpool.New(ctx, pg.URL())
	if err != nil {
		_ = pg.Stop()
		return nil, fmt.Errorf("rig: %w", err)
	}
	return &Server{pg: pg, admin: admin}, nil
}

// Stop ends the server and removes its files.
func (s *Server) Stop() error {
	s.admin.Close()
	return s.pg.Stop()
}

// Version is the server's version, for the report.
func (s *Server) Version(ctx context.Context) (version string, err error) {
	return version, s.admin.QueryRow(ctx, versionSQL).Scan(&version)
}

// Transactions is how many transactions the database has ended so far, seen from outside of it.
func (s *Server) Transactions(ctx context.Context, database string) (n int64, err error) {
	return n, s.admin.QueryRow(ctx, transactionsSQL, database).Scan(&n)
}

// Database makes an empty database with the plain side's tables.
func (s *Server) Database(ctx context.Context, name string) (*Database, error) {
	quoted := pgx.Identifier{name}.Sanitize()
	if _, err := s.admin.Exec(ctx, "create database "+quoted); err != nil {
		return nil, fmt.Errorf("rig: create database %s: %w", name, err)
	}
	d := &Database{Name: name, url: s.pg.DatabaseURL(name)}
	var err error
	if d.Pool, err = d.NewPool(ctx, 8); err != nil {
		return nil, err
	}
	if _, err := d.Pool.Exec(ctx, schemaSQL); err != nil {
		return nil, fmt.Errorf("rig: create the plain tables: %w", err)
	}
	return d, nil
}

// Drop removes a database and closes its pools.
func (s *Server) Drop(ctx context.Context, d *Database) error {
	d.close()
	_, err := s.admin.Exec(ctx, "drop database "+pgx.Identifier{d.Name}.Sanitize()+" with (force)")
	return err
}
