package seed

import (
	"context"
	_ "embed" // for the rows
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	//go:embed once.sql
	onceSQL string
	//go:embed jobs.sql
	jobsSQL string
	//go:embed events.sql
	eventsSQL string
	//go:embed fanouts.sql
	fanoutsSQL string
	//go:embed deliveries.sql
	deliveriesSQL string
	//go:embed attempts.sql
	attemptsSQL string
	//go:embed mails.sql
	mailsSQL string
	//go:embed audit.sql
	auditSQL string
)

// Tables are those that grow with the history.
var Tables = []string{"river_job", "events", "webhook_fanouts", "webhook_deliveries", "webhook_attempts", "mails", "audit"}

// chunk is how many numbers one statement fills at most.
const chunk = 1_000_000

// secondary lists the indexes of a table that no constraint needs.
const secondary = `
select 'drop index postbus.' || quote_ident(c.relname), pg_get_indexdef(i.indexrelid)
from pg_index as i
join pg_class as c on c.oid = i.indexrelid
where i.indrelid = ('postbus.' || $1::text)::regclass and not exists (select from pg_constraint as k where k.conindid = i.indexrelid)`

// Fill adds the rows with the numbers after from up to to; from 0 it also adds what a bus has few of. The tables' indexes are
// made anew behind the rows, and the planner knows them in the end.
func Fill(ctx context.Context, pool *pgxpool.Pool, from, to int) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	fill := filler{conn: conn.Conn()}
	fill.exec(ctx, "set synchronous_commit = off")
	fill.exec(ctx, "set maintenance_work_mem = '512MB'")
	fill.exec(ctx, "set session_replication_role = replica") // no triggers
	if from == 0 {
		fill.exec(ctx, onceSQL)
	}
	for i, sql := range []string{jobsSQL, eventsSQL, fanoutsSQL, deliveriesSQL, attemptsSQL, mailsSQL, auditSQL} {
		fill.table(ctx, Tables[i], sql, from, to)
	}
	fill.exec(ctx, "reset all")
	fill.exec(ctx, "vacuum analyze")
	return fill.err
}

// filler runs statements until one fails.
type filler struct {
	conn *pgx.Conn
	err  error
}

func (f *filler) exec(ctx context.Context, sql string, args ...any) {
	if f.err != nil {
		return
	}
	if _, err := f.conn.Exec(ctx, sql, args...); err != nil {
		f.err = fmt.Errorf("seed: %.80s: %w", sql, err)
	}
}

// table fills one table without its indexes and then makes them.
func (f *filler) table(ctx context.Context, table, sql string, from, to int) {
	if f.err != nil {
		return
	}
	rows, err := f.conn.Query(ctx, secondary, table)
	if err != nil {
		f.err = fmt.Errorf("seed: %w", err)
		return
	}
	type index struct{ Drop, Make string }
	indexes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[index])
	if err != nil {
		f.err = fmt.Errorf("seed: %w", err)
		return
	}
	for _, index := range indexes {
		f.exec(ctx, index.Drop)
	}
	for at := from; at < to; at += chunk {
		f.exec(ctx, sql, at, min(at+chunk, to))
	}
	for _, index := range indexes {
		f.exec(ctx, index.Make)
	}
	f.exec(ctx, "analyze postbus."+table)
}
