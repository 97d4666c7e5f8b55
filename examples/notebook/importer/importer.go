package importer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/postbus/postbus/examples/notebook/note"
)

// Report says what a run did.
type Report struct {
	Files, Created, Changed, Unchanged int
	Skipped                            []Skip
}

// Skip is a file that is no note, and why.
type Skip struct{ Path, Why string }

// String sums the report up in one line.
func (r Report) String() string {
	return fmt.Sprintf("%d files: %d created, %d changed, %d unchanged, %d skipped",
		r.Files, r.Created, r.Changed, r.Unchanged, len(r.Skipped))
}

// Importer writes files as one owner's notes.
type Importer struct {
	Notes *note.Store
	Owner string
	// Publish makes new notes public. Notes that are there already stay what they are.
	Publish bool
}

// Folder imports every Markdown file (.md, .markdown) of the folder and the folders in it. Folders named .git are
// left out; links are followed to files, not to folders. It fails where the folder cannot be read or has none.
func (im Importer) Folder(ctx context.Context, dir string) (Report, error) {
	root, err := resolve(dir)
	if err != nil {
		return Report{}, err
	}
	var r Report
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			r.Skipped = append(r.Skipped, Skip{path, reason(err)})
			return nil
		case d.IsDir() && path != root && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir() || !isMarkdown(path):
			return nil
		}
		r.Files++
		return im.file(ctx, path, &r)
	})
	if err != nil {
		return r, fmt.Errorf("after %s: %w", r, err)
	}
	if r.Files == 0 && len(r.Skipped) == 0 {
		return r, fmt.Errorf("%s has no Markdown files (.md, .markdown)", dir)
	}
	return r, nil
}

// Check reports why a folder cannot be imported, before anything is done about it.
func Check(dir string) error {
	_, err := resolve(dir)
	return err
}

// resolve answers the folder's one true name, so that another way to it does not make other notes.
func resolve(dir string) (string, error) {
	root, err := filepath.Abs(dir)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return "", fmt.Errorf("the folder %s cannot be read: %s", dir, reason(err))
	}
	if _, err := os.ReadDir(root); err != nil {
		return "", fmt.Errorf("the folder %s cannot be read: %s", dir, reason(err))
	}
	return root, nil
}

func isMarkdown(path string) bool {
	return slices.Contains([]string{".md", ".markdown"}, strings.ToLower(filepath.Ext(path)))
}

// file imports one file. Only what stops every other file as well, the database, is an error.
func (im Importer) file(ctx context.Context, path string, r *Report) error {
	outcome, err := im.one(ctx, path)
	var skip skipError
	switch {
	case errors.As(err, &skip):
		r.Skipped = append(r.Skipped, Skip{path, skip.why})
		return nil
	case err != nil:
		return err
	}
	switch outcome {
	case note.Created:
		r.Created++
	case note.Changed:
		r.Changed++
	default:
		r.Unchanged++
	}
	return nil
}

func (im Importer) one(ctx context.Context, path string) (note.Outcome, error) {
	draft, err := read(path)
	if err != nil {
		return "", err
	}
	outcome, err := im.Notes.Import(ctx, im.Owner, filepath.ToSlash(path), draft, im.Publish)
	if errors.Is(err, note.ErrInvalid) {
		return "", skipError{err.Error()}
	}
	return outcome, err
}
