package pg_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/pg"
)

func TestNotifySendsEachPayload(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	conn, err := pgx.Connect(t.Context(), pool.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `listen "a channel"`); err != nil {
		t.Fatal(err)
	}
	want := []string{"one", "", strings.Repeat("x", pg.MaxPayload)}
	if err := pg.Notify(t.Context(), pool, "a channel", want...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []string
	for range want {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, n.Payload)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("payloads (-want +got):\n%s", diff)
	}
}

// A payload that Postgres would refuse is refused before it can spoil a transaction.
func TestNotifyRefusesBeforeItSends(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		for channel, payload := range map[string]string{
			"c":                     strings.Repeat("x", 8000),
			"":                      "no name",
			strings.Repeat("c", 64): "a long name",
			"with\x00nul":           "no text",
		} {
			if err := pg.Notify(ctx, tx, channel, payload); err == nil {
				t.Errorf("channel %q with %d bytes was not refused", channel, len(payload))
			}
		}
		err := pg.Notify(ctx, tx, "jobs", strings.Repeat("x", 8000))
		for _, want := range []string{"jobs", "8000", "7999"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error does not name %s: %v", want, err)
			}
		}
		return insert(ctx, tx, 1)
	})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, pool, 1)
}
