package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/examples/notebook/indexing"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
)

// Two notebook processes on one database share the work: each event becomes one job, and both run some.
func TestTwoProcessesShareTheWork(t *testing.T) {
	t.Parallel()
	const notes = 120
	database, folder, data := testdb.EmptyURL(t), markdownFolder(t, notes), t.TempDir()
	_, searchURL := searchService(t, "127.0.0.1:0", t.TempDir())
	demoPages(t, "--database-url", database, "--search-url", searchURL, "--data", data)
	demoPages(t, "--database-url", database, "--search-url", searchURL, "--data", data, "--import", folder)

	inspector := inspect(t, database)
	wait.Eventually(t, patience, func() (bool, string) {
		page, err := inspector.List(t.Context(), jobs.Filter{Kinds: []string{indexing.Index}, Limit: 200})
		if err != nil {
			t.Fatal(err)
		}
		done, by := 0, map[string]int{}
		for _, j := range page.Jobs {
			if j.State == jobs.Completed {
				done++
				by[j.Instance]++
			}
		}
		why := fmt.Sprintf("%d jobs, %d done, by %v", len(page.Jobs), done, by)
		if len(page.Jobs) > notes {
			t.Fatal("more jobs than events: ", why)
		}
		return done == notes && len(by) == 2, why
	})
}

// inspect looks at the jobs of a database from outside.
func inspect(t *testing.T, database string) jobs.Inspector {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	bus, err := postbus.New(pool, postbus.Config{App: "onlooker"})
	if err != nil {
		t.Fatal(err)
	}
	return bus.Inspector()
}

// markdownFolder makes a folder with n files.
func markdownFolder(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		text := fmt.Sprintf("# File number %d\n\nSome words about barley and the %dth field.\n", i, i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.md", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A write from anywhere is recorded, and forty of them in one transaction coalesce into one job for the last.
func TestChangesFromSQLCoalesce(t *testing.T) {
	t.Parallel()
	database := testdb.EmptyURL(t)
	_, base := demoPages(t, "--database-url", database, "--data", t.TempDir(), "--receipt-wait", patience.String())
	a := write(t, base, "Counter", "barley")
	pool, err := pgxpool.New(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	const changes = `do $$ begin
		for i in 1..40 loop update notebook.notes set body = 'oats ' || i; end loop;
	end $$`
	if _, err := pool.Exec(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	eventuallyFound(t, base, "oats 40", a.Note.ID)
	page, err := inspect(t, database).List(t.Context(), jobs.Filter{Kinds: []string{indexing.Index}, Limit: 200})
	if err != nil || len(page.Jobs) != 2 {
		t.Errorf("%d jobs for a write and forty changes in one transaction (%v), want 2", len(page.Jobs), err)
	}
}
