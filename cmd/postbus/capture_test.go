package main

import (
	"bytes"
	"log/slog"
	"os/exec"
	"strings"
	"testing"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
)

// A capture that was installed from the command line stays whatever application boots, and psql's inserts give events.
func TestCapturesOutliveBoots(t *testing.T) {
	t.Parallel()
	psql, err := exec.LookPath("psql")
	if err != nil {
		t.Skip("there is no psql here")
	}
	pool := testdb.New(t)
	database := pool.Config().ConnString()
	runs := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	program := programDir(t) + "/postbus"
	runs(psql, "-qc", "create table notes (id int primary key, owner_id text); select postbus.declare_type('note.changed')", database)
	runs(program, "capture", "add", "notes", "--type", "note.changed", "--database-url", database)

	var log bytes.Buffer
	bus, err := postbus.New(pool, postbus.Config{
		App: "shop", Types: []events.Type{{Name: "shop.opened"}}, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Captures: []events.Capture{{Name: "shop.notes", Table: "notes", Type: "shop.opened", Owner: "it.owner_id", Subject: "it.id"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := bus.Declare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(log.String(), "capture") {
		t.Errorf("the boot complains of a capture that is none of its own: %s", log.String())
	}
	runs(psql, "-qc", "insert into notes values (1, 'ann')", database)
	got := runs(program, "events", "list", "-o", "jsonl", "--database-url", database)
	if strings.Count(got, `"type":"note.changed"`) != 1 || strings.Count(got, `"type":"shop.opened"`) != 1 {
		t.Errorf("events:\n%s", got)
	}
	listed := runs(program, "capture", "list", "--database-url", database)
	for _, want := range []string{"notes       public.notes", "shop.notes  public.notes", "  shop  true"} {
		if !strings.Contains(listed, want) {
			t.Errorf("the list lacks %q:\n%s", want, listed)
		}
	}
	out, err := exec.Command(program, "capture", "remove", "shop.notes", "--yes", "--database-url", database).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "declared by shop") {
		t.Errorf("an application's capture is removed: %v %s", err, out)
	}
}
