package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/examples/notebook/receiver"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/postbustest"
)

// changes waits until the receiver has n messages of a note and answers them, each as "change title".
func changes(t *testing.T, base, id string, n int) (got []string) {
	t.Helper()
	wait.Eventually(t, patience, func() (bool, string) {
		r, err := receiver.Ask(t.Context(), base)
		if err != nil {
			return false, err.Error()
		}
		got = nil
		for _, m := range r.Subjects[id] {
			got = append(got, m.Change+" "+m.Title)
		}
		return len(got) >= n, fmt.Sprintf("the receiver has %q of note %s, want %d", got, id, n)
	})
	return got
}

// press presses a button of the note's page.
func press(t *testing.T, base, id, button string) {
	t.Helper()
	if a := call(t, http.MethodPost, base+"/notes/"+id+"/"+button, nil); a.Status != http.StatusOK {
		t.Fatalf("%s answers %d: %s", button, a.Status, a.Body)
	}
}

func edit(t *testing.T, base, id, title string) {
	t.Helper()
	if a := call(t, http.MethodPut, base+"/notes/"+id, map[string]string{"title": title, "body": title}); a.Status != http.StatusOK || !a.Indexed {
		t.Fatalf("PUT answers %d: %s", a.Status, a.Body)
	}
}

// one answers a query's one value.
func one[T any](t *testing.T, database, sql string, args ...any) (v T) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := pool.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// An edit of a published note over HTTP reaches the receiver, verified with the endpoint's secret; its subject is the note's
// id, and it has one delivery.
func TestAnEditOfAPublishedNoteReachesTheReceiver(t *testing.T) {
	t.Parallel()
	database, data := testdb.EmptyURL(t), t.TempDir()
	sink := postbustest.NewReceiver(t)
	_, base := demoPages(t, "--database-url", database, "--data", data, "--receiver-url", sink.URL, "--receipt-wait", patience.String())
	sink.Trust(t, secretIn(t, data))
	a := write(t, base, "Harvest", "cut the barley")
	press(t, base, a.Note.ID, "publish")
	edit(t, base, a.Note.ID, "Harvest of oats")

	for i, m := range sink.WaitFor(t, 2, patience) {
		if m.Unverified != nil || m.Subject != a.Note.ID || m.Type != "notebook.note_published" {
			t.Errorf("message %d: %s of %s, unverified: %v", i, m.Type, m.Subject, m.Unverified)
		}
		if n := one[int](t, database, `select count(*) from postbus.webhook_deliveries where event_id = $1`, m.ID); n != 1 {
			t.Errorf("%d deliveries of event %s, want 1", n, m.ID)
		}
	}
	if last := sink.Messages()[1]; !strings.Contains(string(last.Data), `"Harvest of oats"`) {
		t.Errorf("data %s", last.Data)
	}
	if n := one[int](t, database, `select count(*) from postbus.webhook_deliveries where subject = $1`, a.Note.ID); n != 2 {
		t.Errorf("%d deliveries of the note, want 2", n)
	}
	wait.Eventually(t, patience, func() (bool, string) {
		page := get(t, base+"/notes/"+a.Note.ID)
		return strings.Contains(page, "version 2): delivered at attempt 1"), page
	})
}

// secretIn finds the secret in a data folder, in a file that its user alone can read.
func secretIn(t *testing.T, data string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(data, "webhooks", "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no webhook files: ", err)
	}
	secret := ""
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v (%v), want 0600", file, info.Mode(), err)
		}
		if filepath.Base(file) == "secret" {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			secret = strings.TrimSpace(string(raw))
		}
	}
	return secret
}

// Only what is published leaves: not what was written before and not what follows the withdrawal.
func TestOnlyPublishedNotesLeave(t *testing.T) {
	t.Parallel()
	p, base := demoPages(t, "--database-url", testdb.EmptyURL(t), "--data", t.TempDir(), "--receipt-wait", patience.String())
	sink := p.said(t, receiverLine)
	a, private := write(t, base, "One", "barley"), write(t, base, "Private", "barley")
	press(t, base, a.Note.ID, "publish")
	press(t, base, a.Note.ID, "publish") // again: no change
	edit(t, base, a.Note.ID, "Two")
	press(t, base, a.Note.ID, "withdraw")
	edit(t, base, a.Note.ID, "Three")
	edit(t, base, private.Note.ID, "Still private")
	press(t, base, a.Note.ID, "publish")
	edit(t, base, a.Note.ID, "Three") // to the same text: its receipt is that of the edit before
	if gone := call(t, http.MethodDelete, base+"/notes/"+a.Note.ID, nil); !gone.Indexed {
		t.Errorf("receipt of a deletion: %s", gone.Body)
	}
	want := []string{"published One", "changed Two", "withdrawn Two", "published Three", "withdrawn Three"}
	if diff := cmp.Diff(want, changes(t, sink, a.Note.ID, len(want))); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
	if r, err := receiver.Ask(t.Context(), sink); err != nil || len(r.Subjects) != 1 || r.Repeated+r.Refused != 0 {
		t.Errorf("the receiver has %+v (%v)", r, err)
	}
}

// The receiver's process is killed: a delivery fails, the page says so, the receiver comes back with what it knew, and the
// webhook arrives.
func TestAKilledReceiverGetsWhatItMissed(t *testing.T) {
	t.Parallel()
	database, data := testdb.EmptyURL(t), t.TempDir()
	p, base := demoPages(t, "--database-url", database, "--data", data, "--receipt-wait", patience.String())
	sink := p.said(t, receiverLine)
	a := write(t, base, "Before", "barley")
	press(t, base, a.Note.ID, "publish")
	changes(t, sink, a.Note.ID, 1)

	if err := syscall.Kill(p.receiverPID(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.said(t, receiverLine+"ended (signal: killed)")
	edit(t, base, a.Note.ID, "During")
	want := []string{"published Before", "changed During"}
	if diff := cmp.Diff(want, changes(t, sink, a.Note.ID, 2)); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
	const tries = `select coalesce(max(tries), 0) from postbus.webhook_deliveries where state = 'delivered'`
	wait.Eventually(t, patience, func() (bool, string) {
		return one[int](t, database, tries) > 1, "no delivery took more than one attempt"
	})
	if out := p.output(); strings.Contains(out, "whsec_") || strings.Contains(out, secretIn(t, data)) {
		t.Error("the secret is in the output")
	}
}

// receiverPID is the process of the receiver that began last, whose command line has no secret.
func (p *process) receiverPID(t *testing.T) (pid int) {
	t.Helper()
	for line := range strings.Lines(p.output()) {
		if _, rest, ok := strings.Cut(line, "(process "); ok {
			_, _ = fmt.Sscan(strings.TrimSuffix(strings.Fields(rest)[0], ";"), &pid)
		}
	}
	if pid == 0 {
		t.Fatalf("no receiver's process in:\n%s", p.output())
	}
	if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
		args := strings.Split(string(line), "\x00")
		if !slices.Contains(args, "receive") || strings.Contains(string(line), "whsec_") {
			t.Errorf("command line %q", args)
		}
	}
	return pid
}

// The receiver ends with the notebook, however that ends.
func TestTheReceiverEndsWithTheNotebook(t *testing.T) {
	t.Parallel()
	p, _ := demoPages(t, "--database-url", testdb.EmptyURL(t), "--data", t.TempDir())
	sink := p.said(t, receiverLine)
	p.kill()
	wait.Eventually(t, patience, func() (bool, string) {
		r, err := receiver.Ask(t.Context(), sink)
		return err != nil, fmt.Sprintf("the receiver is up since %s", r.Since)
	})
}
