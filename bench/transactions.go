package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/bench/internal/rig"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/pg"
)

// Every side of a pair commits the same transaction but for its second statement: four round trips, begin, the business
// row, the second row, commit.

// changed is the event's data.
type changed struct {
	Note  int    `json:"note"`
	Title string `json:"title"`
	Body  string `json:"body"`
}

const (
	eventType = "bench.changed"
	owner     = "owner"
	body      = "The quick brown fox jumps over the lazy dog, and then it does so once more to fill the line with text."
)

func dataOf(i int) changed { return changed{Note: i, Title: fmt.Sprintf("Note %d", i), Body: body} }

func subjectOf(writer, i int) string { return fmt.Sprintf("note-%d-%d", writer, i) }

// second writes the second row.
type second func(ctx context.Context, tx pgx.Tx, subject string, data changed) error

// inTx is the transaction around it.
func inTx(pool *pgxpool.Pool, write second) rig.Tx {
	return func(ctx context.Context, writer, i int) error {
		return pg.InTx(ctx, pool, func(ctx context.Context, tx pgx.Tx) error {
			subject, data := subjectOf(writer, i), dataOf(i)
			if _, err := tx.Exec(ctx, insertNoteSQL, owner, data.Title); err != nil {
				return err
			}
			return write(ctx, tx, subject, data)
		})
	}
}

// plainly is what an application writes by hand: the same payload into a table with a primary key.
func plainly(ctx context.Context, tx pgx.Tx, subject string, data changed) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, insertPlainSQL, eventType, owner, subject, raw)
	return err
}

// recording records an event.
func recording(recorder events.Recorder) second {
	return func(ctx context.Context, tx pgx.Tx, subject string, data changed) error {
		return recorder.With(tx).Record(ctx, owner, eventType, subject, data)
	}
}
