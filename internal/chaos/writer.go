package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/pg"
)

// Outcomes as a writer was told them.
const (
	committed  = "committed"
	rolledBack = "rolled back"
	unknown    = "unknown" // the connection ended at the commit: the row decides
)

// journal keeps what the writers were told, outside of the database.
type journal struct {
	mu      sync.Mutex
	entries map[int64]entry
}

// entry is what a writer was told of a row, and in which words.
type entry struct{ outcome, why string }

func (j *journal) note(outcome string, why error, ids ...int64) {
	e := entry{outcome: outcome}
	if why != nil {
		e.why = why.Error()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, id := range ids {
		j.entries[id] = e
	}
}

// writers are the business: each transaction writes rows and has their events recorded, and ends well or not.
type writers struct {
	pool    *pgxpool.Pool
	rec     events.Recorder
	rate    int
	journal journal
	ids     atomic.Int64
	runners []*loop.Runner
}

const writerCount = 6

func (w *writers) start(ctx context.Context, seed uint64) {
	w.journal.entries = map[int64]entry{}
	for i := range writerCount {
		random := rand.New(rand.NewPCG(seed, uint64(100+i)))
		runner := &loop.Runner{Name: "writer"}
		runner.Start(ctx, func(ctx context.Context) { w.write(ctx, random) })
		w.runners = append(w.runners, runner)
	}
}

func (w *writers) stop() {
	for _, r := range w.runners {
		r.Stop()
	}
}

func (w *writers) write(ctx context.Context, random *rand.Rand) {
	pause := time.Second * writerCount / time.Duration(w.rate)
	for ctx.Err() == nil {
		w.once(context.WithoutCancel(ctx), random)
		_ = loop.Sleep(ctx, time.Duration(random.Int64N(int64(2*pause))))
	}
}

var errAway = errors.New("away with it")

// deed is one business transaction.
type deed struct {
	via     string // how the event is recorded: go, sql or capture
	ids     []int64
	undone  []int64 // under a savepoint that is rolled back
	lingers time.Duration
	fails   bool
}

func (w *writers) deed(random *rand.Rand) deed {
	d := deed{via: []string{"go", "sql", "capture"}[random.IntN(3)], fails: random.IntN(10) < 3}
	n := 1
	if random.IntN(12) == 0 {
		n = 10 + random.IntN(30)
	}
	for range n {
		d.ids = append(d.ids, w.ids.Add(1))
	}
	if random.IntN(6) == 0 {
		d.undone = []int64{w.ids.Add(1)}
	}
	if random.IntN(4) == 0 {
		d.lingers = time.Duration(random.IntN(250)) * time.Millisecond // commits out of the order of seq
	}
	return d
}

func (w *writers) once(ctx context.Context, random *rand.Rand) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	d := w.deed(random)
	err := pg.InTx(ctx, w.pool, func(ctx context.Context, tx pgx.Tx) error { return w.do(ctx, tx, d) })
	switch {
	case err == nil:
		w.journal.note(committed, nil, d.ids...)
	case errors.Is(err, pg.ErrCommitUnknown):
		w.journal.note(unknown, err, d.ids...)
	default: // pg.InTx promises that nothing was committed
		w.journal.note(rolledBack, err, d.ids...)
	}
	w.journal.note(rolledBack, errors.New("under a savepoint"), d.undone...)
	if err != nil && !errors.Is(err, errAway) {
		_ = loop.Sleep(ctx, 100*time.Millisecond)
	}
}

func (w *writers) do(ctx context.Context, tx pgx.Tx, d deed) error {
	for i, id := range d.ids {
		if i == len(d.ids)/2 && len(d.undone) > 0 {
			err := pg.Nested(ctx, tx, func(ctx context.Context, tx pgx.Tx) error {
				if err := w.order(ctx, tx, d.via, d.undone[0]); err != nil {
					return err
				}
				return errAway
			})
			if !errors.Is(err, errAway) {
				return err
			}
		}
		if err := w.order(ctx, tx, d.via, id); err != nil {
			return err
		}
	}
	_ = loop.Sleep(ctx, d.lingers)
	if d.fails {
		return errAway
	}
	return nil
}

// order writes one row, and has its event recorded.
func (w *writers) order(ctx context.Context, tx pgx.Tx, via string, id int64) error {
	subject := strconv.FormatInt(id, 10)
	if via == "capture" {
		_, err := tx.Exec(ctx, `insert into app.captured (id, via) values ($1, $2)`, id, via)
		return err
	}
	if _, err := tx.Exec(ctx, `insert into app.orders (id, via) values ($1, $2)`, id, via); err != nil {
		return err
	}
	if via == "go" {
		return w.rec.With(tx).Record(ctx, owner, placed, subject, map[string]int64{"order": id})
	}
	_, err := tx.Exec(ctx, `select postbus.record($1, $2, $3, $4)`, owner, placed, subject, fmt.Sprintf(`{"order": %d}`, id))
	return err
}
