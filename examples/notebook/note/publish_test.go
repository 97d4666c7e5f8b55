package note_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/examples/notebook/note"
	"github.com/postbus/postbus/internal/testdb"
)

func published(t *testing.T, s *note.Store) (got []string) {
	t.Helper()
	err := s.Publications(t.Context(), "me", 2, func(page []note.Publication) error {
		for _, p := range page {
			got = append(got, fmt.Sprintf("%s %d", p.Title, p.Version))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// What is public follows the notes, whoever writes them.
func TestPublicationsFollowTheNotes(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	s := note.NewStore(pool)
	n, err := s.Create(t.Context(), "me", note.Draft{Title: "A"})
	if err != nil || n.PublishedAt != nil {
		t.Fatal(n, err)
	}
	expect := func(what string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, published(t, s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	set := func(public bool) note.Note {
		t.Helper()
		n, err := s.Publish(t.Context(), "me", n.ID, public)
		if err != nil || (n.PublishedAt != nil) != public {
			t.Fatal(n, err)
		}
		return n
	}
	expect("before")
	first := set(true)
	expect("published", "A 1")
	if again := set(true); !again.PublishedAt.Equal(*first.PublishedAt) {
		t.Errorf("published again at %s, first at %s", again.PublishedAt, first.PublishedAt)
	}
	exec(t, pool, `update notebook.notes set title = 'B'`)
	expect("changed in SQL", "B 2")
	set(false)
	exec(t, pool, `update notebook.notes set title = 'C'`)
	expect("withdrawn")
	set(true)
	expect("published again", "C 3")
	if _, err := s.Import(t.Context(), "me", "/d.md", note.Draft{Title: "D"}, true); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "me", n.ID); err != nil {
		t.Fatal(err)
	}
	expect("deleted, and another one imported", "D 1")
	if n, err := s.CountPublished(t.Context(), "me"); err != nil || n != 1 {
		t.Error(n, err)
	}
	if _, err := s.Publish(t.Context(), "you", n.ID, true); err == nil {
		t.Error("another owner's note was published")
	}
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// A notebook from before has its notes afterwards, all private; the way back takes nothing but the publications.
func TestOlderNotesStayPrivate(t *testing.T) {
	t.Parallel()
	pool := testdb.Empty(t)
	migration := func(file string) {
		t.Helper()
		raw, err := os.ReadFile(filepath.Join("migrations", file))
		if err != nil {
			t.Fatal(err)
		}
		exec(t, pool, string(raw))
	}
	migration("001_notes.up.sql")
	exec(t, pool, `insert into notebook.notes (owner_id, title, body) values ('me', 'Old', '')`)
	s := note.NewStore(pool)
	for range 2 {
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := published(t, s); len(got) != 0 {
		t.Errorf("published by the migration: %q", got)
	}
	migration("003_site.down.sql")
	migration("002_publications.down.sql")
	exec(t, pool, `update notebook.notes set title = 'Older'`)
	if err := s.Migrate(t.Context()); err != nil {
		t.Error(err)
	}
}
