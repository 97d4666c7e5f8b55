package note

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// The tables: the notes, and what of them is public.
const (
	Table             = "notebook.notes"
	PublicationsTable = "notebook.publications"
)

// Limits of a note.
const (
	MaxTitle = 300     // characters
	MaxBody  = 1 << 20 // bytes
)

var (
	// ErrNotFound says that there is no such note.
	ErrNotFound = errors.New("note not found")
	// ErrInvalid says that the text can never be kept as it is.
	ErrInvalid = errors.New("invalid note")
)

// Note is one note.
type Note struct {
	ID      string `json:"id"`
	OwnerID string `json:"owner"`
	// Path is the file it was imported from; nil for a note written by hand.
	Path      *string   `json:"path,omitempty"`
	Title     string    `json:"title"`
	Body      string    `json:"body"` // in a list only its first 300 characters
	Version   int64     `json:"version"`
	UpdatedAt time.Time `json:"updated_at"`
	// PublishedAt is when it was published; nil for a note that is not.
	PublishedAt *time.Time `json:"published_at,omitempty"`
}

// File answers the file it was imported from, or "".
func (n Note) File() string {
	if n.Path == nil {
		return ""
	}
	return *n.Path
}

// Draft is the text of a note to be.
type Draft struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

// Clean trims the title and takes the body's first line where there is none; it refuses what cannot be kept.
func (d Draft) Clean() (Draft, error) {
	d.Body = strings.ReplaceAll(d.Body, "\r\n", "\n")
	if err := checkText("body", d.Body); err != nil {
		return d, err
	}
	if err := checkText("title", d.Title); err != nil {
		return d, err
	}
	if len(d.Body) > MaxBody {
		return d, fmt.Errorf("%w: the body has %d bytes; the limit is %d", ErrInvalid, len(d.Body), MaxBody)
	}
	d.Title = strings.Join(strings.Fields(d.Title), " ")
	if d.Title == "" {
		first, _, _ := strings.Cut(strings.TrimSpace(d.Body), "\n")
		d.Title = Shorten(strings.TrimSpace(strings.TrimLeft(first, "# ")), MaxTitle)
	}
	if d.Title == "" {
		return d, fmt.Errorf("%w: it has neither a title nor a text", ErrInvalid)
	}
	if n := utf8.RuneCountInString(d.Title); n > MaxTitle {
		return d, fmt.Errorf("%w: the title has %d characters; the limit is %d", ErrInvalid, n, MaxTitle)
	}
	return d, nil
}

func checkText(what, s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("%w: the %s is not valid UTF-8", ErrInvalid, what)
	}
	if i := strings.IndexByte(s, 0); i >= 0 {
		return fmt.Errorf("%w: the %s has a NUL at byte %d", ErrInvalid, what, i)
	}
	return nil
}

// Shorten cuts s to at most n characters and says so with "…".
func Shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
