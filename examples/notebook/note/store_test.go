package note_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/examples/notebook/note"
	"github.com/postbus/postbus/internal/testdb"
)

func TestMain(m *testing.M) {
	testdb.Run(m, func(ctx context.Context, pool *pgxpool.Pool) error { return note.NewStore(pool).Migrate(ctx) })
}

func TestVersionGoesUpWithEveryChangeOfTheText(t *testing.T) {
	t.Parallel()
	s := note.NewStore(testdb.New(t))
	n, err := s.Create(t.Context(), "me", note.Draft{Title: " A  plan ", Body: "one"})
	if err != nil || n.Title != "A plan" || n.Version != 1 {
		t.Fatal(n, err)
	}
	for _, step := range []struct {
		body string
		want int64
	}{{"two", 2}, {"two", 2}, {"three", 3}} {
		if n, err = s.Update(t.Context(), "me", n.ID, note.Draft{Title: "A plan", Body: step.body}); err != nil || n.Version != step.want {
			t.Errorf("after %q: version %d (%v), want %d", step.body, n.Version, err, step.want)
		}
	}
}

func TestAnotherOwnersNoteIsNotThere(t *testing.T) {
	t.Parallel()
	s := note.NewStore(testdb.New(t))
	n, err := s.Create(t.Context(), "me", note.Draft{Title: "Mine"})
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"update":          second(s.Update(t.Context(), "you", n.ID, note.Draft{Title: "Yours"})),
		"delete":          s.Delete(t.Context(), "you", n.ID),
		"update, odd id":  second(s.Update(t.Context(), "me", "1 or 1", note.Draft{Title: "x"})),
		"delete, unknown": s.Delete(t.Context(), "me", "00000000-0000-0000-0000-000000000001"),
	} {
		if !errors.Is(err, note.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestWhatCannotBeKeptIsRefused(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]note.Draft{
		"neither a title": {Title: " ", Body: "\n"},
		"NUL at byte 1":   {Title: "a\x00b"},
		"not valid UTF-8": {Title: "a", Body: "\xff"},
		"the limit is 30": {Title: strings.Repeat("ü", note.MaxTitle+1)},
		"the limit is 10": {Title: "a", Body: strings.Repeat("x", note.MaxBody+1)},
	} {
		if _, err := d.Clean(); !errors.Is(err, note.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if d, err := (note.Draft{Body: "# First line\nrest"}).Clean(); err != nil || d.Title != "First line" {
		t.Errorf("title %q (%v), want the first line", d.Title, err)
	}
}

// A file that holds what it held when it was imported last changes nothing, even where the note was edited since.
func TestImportLeavesAnEditAlone(t *testing.T) {
	t.Parallel()
	s := note.NewStore(testdb.New(t))
	imports := func(body string, want note.Outcome) {
		t.Helper()
		if got, err := s.Import(t.Context(), "me", "/a.md", note.Draft{Title: "A", Body: body}, false); err != nil || got != want {
			t.Errorf("import of %q: %s (%v), want %s", body, got, err, want)
		}
	}
	imports("one", note.Created)
	imports("one", note.Unchanged)
	list, err := s.List(t.Context(), "me", "", 10)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if _, err := s.Update(t.Context(), "me", list[0].ID, note.Draft{Title: "A", Body: "edited here"}); err != nil {
		t.Fatal(err)
	}
	imports("one", note.Unchanged)
	imports("two", note.Changed)
}

func TestListAndVersionsPassEveryNoteOnce(t *testing.T) {
	t.Parallel()
	s := note.NewStore(testdb.New(t))
	const notes = 23
	for i := range notes {
		if _, err := s.Create(t.Context(), "me", note.Draft{Title: fmt.Sprint("note ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]int{}
	for before := ""; ; {
		page, err := s.List(t.Context(), "me", before, 5)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, n := range page {
			seen[n.ID]++
		}
		before = page[len(page)-1].ID
	}
	err := s.Versions(t.Context(), 5, func(page []note.Version) error {
		for _, v := range page {
			seen[v.ID]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, n := range seen {
		if n != 2 {
			t.Errorf("%s passed %d times, want once each way", id, n)
		}
	}
	if len(seen) != notes {
		t.Errorf("%d notes passed, want %d", len(seen), notes)
	}
}

func TestManyMayMigrateAtOnce(t *testing.T) {
	t.Parallel()
	s := note.NewStore(testdb.Empty(t))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := s.Migrate(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// One search service per database: the second claim learns where the first one is.
func TestOneProcessOwnsTheSearchService(t *testing.T) {
	t.Parallel()
	s := note.NewStore(testdb.New(t))
	owned, _, release, err := s.OwnSearch(t.Context(), "http://first")
	if err != nil || !owned {
		t.Fatal(owned, err)
	}
	if owned, other, _, err := s.OwnSearch(t.Context(), "http://second"); err != nil || owned || other != "http://first" {
		t.Errorf("second claim: owned %v, other %q (%v)", owned, other, err)
	}
	release()
	owned, _, release, err = s.OwnSearch(t.Context(), "http://second")
	if err != nil || !owned {
		t.Fatal("not released:", owned, err)
	}
	release()
}
