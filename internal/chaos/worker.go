package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/loop"
)

// runWorker is the process of the role worker: a program outside of the bus that knows SQL alone. It never ends well.
func runWorker(ctx context.Context, spec childSpec) error {
	log, err := os.OpenFile(spec.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	w := labeller{name: spec.Name, log: log}
	for {
		if err := w.session(ctx, spec.URL); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
		}
		_ = loop.Sleep(ctx, 200*time.Millisecond)
	}
}

type labeller struct {
	name string
	log  *os.File
}

type claimedJob struct{ lease, event string }

// session works until its connection breaks or hangs.
func (w labeller) session(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for {
		n, err := w.round(ctx, conn)
		if err != nil {
			return err
		}
		if n == 0 {
			_ = loop.Sleep(ctx, 200*time.Millisecond)
		}
	}
}

func (w labeller) round(ctx context.Context, conn *pgx.Conn) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	rows, err := conn.Query(ctx, `select id, event ->> 'id' from postbus.claim_work(array['labels'], $1, 20, '5 seconds')`, w.name)
	if err != nil {
		return 0, err
	}
	claimed, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (j claimedJob, err error) {
		return j, row.Scan(&j.lease, &j.event)
	})
	if err != nil {
		return 0, err
	}
	for _, job := range claimed {
		if err := w.work(ctx, conn, job); err != nil {
			return 0, err
		}
	}
	return len(claimed), nil
}

// work writes the label in the transaction that completes the job, so that there is one whatever happens, and then tells the log:
// what stands there was committed.
func (w labeller) work(ctx context.Context, conn *pgx.Conn, job claimedJob) error {
	if rand.IntN(30) == 0 {
		_, err := conn.Exec(ctx, `select postbus.fail_work($1, 'failed at random', 'retry', '300 milliseconds')`, job.lease)
		return lost(err)
	}
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `insert into app.labels (event_id, worker) values ($1, $2)`, job.event, w.name); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `select postbus.complete_work($1)`, job.lease)
		return err
	})
	if err != nil {
		return lost(err)
	}
	_, err = fmt.Fprintln(w.log, job.event)
	return err
}

// lost forgives a lease that ended: somebody else has the job.
func lost(err error) error {
	var pgErr interface{ SQLState() string }
	if errors.As(err, &pgErr) && pgErr.SQLState() == "PB001" {
		return nil
	}
	return err
}
