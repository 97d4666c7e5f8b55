package river_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/pg"
)

// A kind is declared as data; a job made within a transaction exists if and only if that commits.
func Example() {
	pool, done := testdb.ForExample()
	defer done()
	ctx := context.Background()

	runtime, err := river.New(pool, river.Config{Kinds: []jobs.Kind{{
		Name:    "greeting.send",
		Receipt: true, // somebody waits for it
		Handle: func(_ context.Context, args json.RawMessage) error {
			var greeting struct{ To string }
			if err := json.Unmarshal(args, &greeting); err != nil {
				return jobs.Discard(err)
			}
			fmt.Println("hello,", greeting.To)
			return nil
		},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := runtime.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = runtime.Stop(ctx) }()

	var id jobs.JobID
	err = pg.InTx(ctx, pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		id, err = runtime.With(tx).Enqueue(ctx, "greeting.send", map[string]string{"to": "Ada"}, jobs.EnqueueOpts{})
		return err
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	state, final := runtime.Wait(ctx, id, 30*time.Second)
	fmt.Println(state, final)
	// Output:
	// hello, Ada
	// completed true
}

// A runtime that declares no kinds enqueues for others and inspects: Queue and MaxAttempts are then the caller's to give.
func ExampleRuntime_Inspector() {
	pool, done := testdb.ForExample()
	defer done()
	ctx := context.Background()

	runtime, err := river.New(pool, river.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	opts := jobs.EnqueueOpts{Queue: "reports", MaxAttempts: 3, UniqueByArgs: true, Owner: "tenant-1"}
	first, _ := runtime.Enqueue(ctx, "report.build", json.RawMessage(`{"month":"2026-01","pages":1}`), opts)
	second, _ := runtime.Enqueue(ctx, "report.build", json.RawMessage(`{"pages":1, "month":"2026-01"}`), opts)
	fmt.Println("the same job:", first == second)

	page, err := runtime.Inspector().List(ctx, jobs.Filter{Owner: "tenant-1", States: []jobs.State{jobs.Pending}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, job := range page.Jobs {
		fmt.Println(job.Kind, job.Queue, job.State)
	}
	// Output:
	// the same job: true
	// report.build reports pending
}
