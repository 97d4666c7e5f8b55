package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/postbus/postbus/examples/notebook/note"
	"github.com/postbus/postbus/examples/notebook/search"
)

// missesShown is how many notes that cannot be found are named.
const missesShown = 10

// findAll looks for every note: whether the index has it in this version, and whether words of its text find it.
func (a *app) findAll(ctx context.Context, out io.Writer) error {
	var notes, asked int
	var misses []string
	err := a.notes.Versions(ctx, 500, func(page []note.Version) error {
		for _, v := range page {
			words, why, err := a.find(ctx, v)
			switch {
			case errors.Is(err, note.ErrNotFound):
				continue // deleted since
			case err != nil:
				return err
			case why != "":
				misses = append(misses, v.ID+": "+why)
			case words:
				asked++
			}
			notes++
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	fmt.Fprintf(out, "found     %d of %d notes, %d of them by words of their text\n", notes-len(misses), notes, asked)
	for _, miss := range misses[:min(len(misses), missesShown)] {
		fmt.Fprintf(out, "missing   %s\n", miss)
	}
	if len(misses) > 0 {
		return fmt.Errorf("%d of %d notes cannot be found", len(misses), notes)
	}
	return nil
}

// find answers why a note cannot be found ("" where it can), and whether it has words to look for.
func (a *app) find(ctx context.Context, v note.Version) (words bool, why string, err error) {
	has, err := a.search.Get(ctx, v.ID)
	switch {
	case errors.Is(err, search.ErrNotFound):
		return false, "the index does not have it", nil
	case err != nil:
		return false, "", err
	case has.Version < v.Version:
		return false, fmt.Sprintf("the index has version %d, the note is at %d", has.Version, v.Version), nil
	}
	n, err := a.notes.Get(ctx, v.ID)
	if err != nil {
		return false, "", err
	}
	text := telling(n.Title+"\n"+n.Body, 4)
	if text == "" {
		return false, "", nil
	}
	result, err := a.search.Search(ctx, search.Query{Text: text, ID: n.ID, Limit: 1})
	if err == nil && len(result.Hits) == 0 {
		why = fmt.Sprintf("a search for %q does not find it", text)
	}
	return true, why, err
}

// telling picks the n longest words that stand alone in the text: letters between spaces, so that any analyzer takes them
// for one word here and there.
func telling(text string, n int) string {
	var words []string
	for _, w := range strings.Fields(text) {
		if utf8.RuneCountInString(w) < 4 || len(w) > 60 || strings.ContainsFunc(w, func(r rune) bool { return !unicode.IsLetter(r) }) {
			continue
		}
		if !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
	return strings.Join(words[:min(len(words), n)], " ")
}
