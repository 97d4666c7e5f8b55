package importer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/postbus/postbus/examples/notebook/markdown"
	"github.com/postbus/postbus/examples/notebook/note"
)

// skipError says why a file is no note.
type skipError struct{ why string }

func (e skipError) Error() string { return e.why }

// reason is an error without the path, which is said already.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// read makes a draft of a file. It never holds more than the limit and one byte.
func read(path string) (note.Draft, error) {
	if !utf8.ValidString(path) {
		return note.Draft{}, skipError{"its name is not valid UTF-8"}
	}
	info, err := os.Stat(path)
	if err != nil {
		return note.Draft{}, skipError{reason(err)}
	}
	if !info.Mode().IsRegular() {
		return note.Draft{}, skipError{"it is not a regular file"}
	}
	if info.Size() > note.MaxBody {
		return note.Draft{}, skipError{fmt.Sprintf("it has %d bytes; the limit is %d", info.Size(), note.MaxBody)}
	}
	f, err := os.Open(path)
	if err != nil {
		return note.Draft{}, skipError{reason(err)}
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, note.MaxBody+1))
	if err != nil {
		return note.Draft{}, skipError{reason(err)}
	}
	return draftOf(path, string(raw))
}

func draftOf(path, text string) (note.Draft, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	d := note.Draft{Title: markdown.Title(text), Body: text}
	if d.Title == "" {
		d.Title = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	if strings.TrimSpace(d.Title) == "" {
		d.Title = filepath.Base(path)
	}
	d.Title = note.Shorten(d.Title, note.MaxTitle)
	return d, nil
}
