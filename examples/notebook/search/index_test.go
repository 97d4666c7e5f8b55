package search_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/examples/notebook/search"
)

func open(t *testing.T, dir string) *search.Index {
	t.Helper()
	x, err := search.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func fresh(t *testing.T) *search.Index {
	t.Helper()
	x := open(t, filepath.Join(t.TempDir(), "index"))
	t.Cleanup(func() { _ = x.Close() })
	return x
}

func put(t *testing.T, x *search.Index, version int64, id, title, body string) bool {
	t.Helper()
	applied, err := x.Put(t.Context(), search.Doc{ID: id, Version: version, Title: title, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	return applied
}

func find(t *testing.T, x *search.Index, text string) []string {
	t.Helper()
	result, err := x.Search(t.Context(), search.Query{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, h := range result.Hits {
		ids = append(ids, h.ID)
	}
	return ids
}

// An older version never replaces a newer one, in whatever order they arrive.
func TestAnOlderVersionIsIgnored(t *testing.T) {
	t.Parallel()
	x := fresh(t)
	put(t, x, 2, "a", "new", "harvest")
	if put(t, x, 1, "a", "old", "sowing") {
		t.Error("version 1 was applied over version 2")
	}
	if got := find(t, x, "sowing"); len(got) != 0 {
		t.Errorf("the old text finds %v", got)
	}
	if diff := cmp.Diff([]string{"a"}, find(t, x, "harvest")); diff != "" {
		t.Error(diff)
	}
}

// A deletion stays as a tombstone, so that a late write cannot bring the document back, after a restart either.
func TestALateWriteDoesNotUndoADeletion(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "index")
	x := open(t, dir)
	put(t, x, 3, "a", "title", "harvest")
	if _, err := x.Delete(t.Context(), "a", 5); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = open(t, dir)
	defer x.Close()
	if put(t, x, 4, "a", "title", "harvest") {
		t.Error("version 4 was applied over a deletion at 5")
	}
	if got := find(t, x, "harvest"); len(got) != 0 {
		t.Errorf("a deleted document is found: %v", got)
	}
	if _, err := x.Get("a"); !errors.Is(err, search.ErrNotFound) {
		t.Errorf("Get of a deleted document: %v, want ErrNotFound", err)
	}
	if got := x.Lacking([]search.Version{{ID: "a", Version: 3}, {ID: "b", Version: 1}}); !cmp.Equal(got, []string{"b"}) {
		t.Errorf("lacking %v, want [b]", got)
	}
}

// A write that was answered is on disk: opening the index again finds them all, in their last version.
func TestWritesTogetherAllArrive(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "index")
	x := open(t, dir)
	const docs, versions = 40, 5
	var wg sync.WaitGroup
	for i := range docs {
		for v := range versions {
			wg.Go(func() {
				_, err := x.Put(context.Background(), search.Doc{ID: fmt.Sprint("d", i), Version: int64(v + 1), Body: fmt.Sprint("rev", v+1)})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = open(t, dir)
	defer x.Close()
	result, err := x.Search(t.Context(), search.Query{Text: fmt.Sprint("rev", versions)})
	if err != nil || result.Total != docs || x.Count() != docs {
		t.Errorf("%d of %d are at their last version, %d in all (%v)", result.Total, docs, x.Count(), err)
	}
}

func TestTwoProcessesCannotHaveOneIndex(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "index")
	defer open(t, dir).Close()
	if _, err := search.Open(dir, slog.New(slog.DiscardHandler)); err == nil {
		t.Fatal("opened twice")
	} else {
		t.Log(err)
	}
}

func TestSearchFindsEveryWordAndMarksIt(t *testing.T) {
	t.Parallel()
	x := fresh(t)
	put(t, x, 1, "quote", "Hamlet", "To be, or <b>not</b> to be & so on")
	put(t, x, 1, "titled", "The grain harvest", "a plan")
	put(t, x, 1, "other", "A plan", "for the grain harvest")
	if diff := cmp.Diff([]string{"titled", "other"}, find(t, x, "grain harvest")); diff != "" {
		t.Errorf("words in the title come first: %s", diff)
	}
	if got := find(t, x, "grain hamlet"); len(got) != 0 {
		t.Errorf("not every word is in %v", got)
	}
	result, err := x.Search(t.Context(), search.Query{Text: "not"})
	if err != nil || len(result.Hits) != 1 {
		t.Fatal(result, err)
	}
	want := []search.Span{{Text: "To be, or <b>"}, {Text: "not", Mark: true}, {Text: "</b> to be & so on"}}
	if diff := cmp.Diff(want, result.Hits[0].Body); diff != "" {
		t.Error(diff)
	}
	for _, odd := range []string{"", "   ", `"`, "+-&& *:\\", "/re/"} {
		find(t, x, odd)
	}
}
