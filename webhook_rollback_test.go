package postbus_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/pg"
	"github.com/postbus/postbus/postbustest"
	"github.com/postbus/postbus/webhooks"
)

var webhookChanges = flag.Int("webhook.changes", 1000, "business transactions of the test that mixes commits and rollbacks")

// The promise: no webhook for a change that was rolled back, and none missing for one that was committed.
func TestWebhooksFollowCommitsOnly(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	// Some answers fail, so that what is missing could not hide behind an easy receiver.
	receiver.Answer(func(postbustest.Message) postbustest.Answer {
		if rand.IntN(10) == 0 {
			return postbustest.Answer{Status: 503}
		}
		return postbustest.Answer{}
	})
	bus := startBus(t, pool, withWebhooks(postbus.Config{Webhooks: &webhooks.Config{FailingWait: 20 * time.Millisecond}}))
	endpointTo(t, bus, receiver, webhooks.EndpointSpec{MaxInFlight: 8})
	if _, err := pool.Exec(t.Context(), `create table notes (id text primary key)`); err != nil {
		t.Fatal(err)
	}
	errRolledBack := errors.New("rolled back")
	err := loop.Together(t.Context(), 8, func(ctx context.Context, w int) error {
		for i := w; i < *webhookChanges; i += 8 {
			id := fmt.Sprintf("n%d", i)
			err := pg.InTx(ctx, pool, func(ctx context.Context, tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, `insert into notes values ($1)`, id); err != nil {
					return err
				}
				if err := bus.Recorder().With(tx).Record(ctx, "owner", noteChanged.Name, id, nil); err != nil {
					return err
				}
				if rand.IntN(2) == 0 {
					return errRolledBack
				}
				return nil
			})
			if err != nil && !errors.Is(err, errRolledBack) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	settle(t, pool)
	arrived := map[string]bool{}
	for _, m := range receiver.Messages() {
		if m.Unverified != nil {
			t.Fatalf("message of %s: %v", m.Subject, m.Unverified)
		}
		arrived[m.Subject] = true
	}
	committed := 0
	rows, err := pool.Query(t.Context(), `select id from notes`)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		committed++
		if !arrived[id] {
			t.Errorf("the webhook of %s is missing", id)
		}
		delete(arrived, id)
	}
	if len(arrived) > 0 {
		t.Errorf("%d webhooks of changes that were rolled back: %v", len(arrived), arrived)
	}
	a := balanced(t, bus)
	t.Logf("%d changes, %d committed, %d requests, account %+v", *webhookChanges, committed, len(receiver.Messages()), a)
	if committed == 0 || committed == *webhookChanges {
		t.Error("commits and rollbacks were not mixed")
	}
}
