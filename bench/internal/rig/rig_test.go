package rig_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/postbus/postbus/bench/internal/rig"
)

func TestServerIsDurableAndCleanEmptiesWhatSidesWrite(t *testing.T) {
	t.Parallel()
	server, err := rig.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	db, err := server.Database(t.Context(), "rig")
	if err != nil {
		t.Fatal(err)
	}
	for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		var value string
		if err := db.Pool.QueryRow(t.Context(), "show "+setting).Scan(&value); err != nil || value != "on" {
			t.Errorf("%s is %q, want on (%v)", setting, value, err)
		}
	}
	if _, err := db.Pool.Exec(t.Context(), "insert into bench.notes (owner_id, title) values ('o', 't')"); err != nil {
		t.Fatal(err)
	}
	if err := db.Clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := db.Pool.QueryRow(t.Context(), "select count(*) from bench.notes").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d rows are left after Clean (%v)", left, err)
	}
	if err := server.Drop(t.Context(), db); err != nil {
		t.Error(err)
	}
}

func TestWritersCountTheWindowOnly(t *testing.T) {
	t.Parallel()
	w := rig.Window{Warm: 200 * time.Millisecond, Count: 200 * time.Millisecond}
	wrote, err := rig.Writers(t.Context(), 2, w, func(ctx context.Context, _, _ int) error {
		timer := time.NewTimer(time.Millisecond)
		defer timer.Stop()
		<-timer.C
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if inWindow := wrote.PerSecond * w.Count.Seconds(); inWindow > 0.9*float64(wrote.Total) {
		t.Errorf("%.0f of %d transactions count, and the warm-up is as long as the window", inWindow, wrote.Total)
	}
}

func TestWritersEndWithTheFirstError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, err := rig.Writers(t.Context(), 4, rig.Window{Count: time.Minute}, func(_ context.Context, writer, i int) error {
		if writer == 1 && i == 3 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("writers end with %v, want %v", err, broken)
	}
}
