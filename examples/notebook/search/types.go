package search

import "errors"

// Doc is what the index knows of a note.
type Doc struct {
	ID      string `json:"id"`
	Version int64  `json:"version"`
	Title   string `json:"title"`
	Body    string `json:"body"`
	Path    string `json:"path"`
}

// Version is the version of one document.
type Version struct {
	ID      string `json:"id"`
	Version int64  `json:"version"`
	Deleted bool   `json:"deleted,omitempty"`
}

// Query asks for documents that hold all the words.
type Query struct {
	Text  string
	Limit int    // Defaults to 20, at most 100.
	ID    string // Only this document. Optional.
}

// Result is a page of hits, the best first, out of Total.
type Result struct {
	Total uint64 `json:"total"`
	Hits  []Hit  `json:"hits"`
}

// Hit is one document and why it was found.
type Hit struct {
	ID    string  `json:"id"`
	Score float64 `json:"score"`
	Title []Span  `json:"title"`
	Body  []Span  `json:"body"`
}

// Span is a piece of plain text; Mark says that it is one of the words asked for.
type Span struct {
	Text string `json:"text"`
	Mark bool   `json:"mark,omitempty"`
}

var (
	// ErrUnavailable says that the service did not answer, or that it failed; the same call may succeed later.
	ErrUnavailable = errors.New("search service unavailable")
	// ErrRefused says that the service will never accept the call as it is.
	ErrRefused = errors.New("search service refused")
	// ErrNotFound says that the index has no such document.
	ErrNotFound = errors.New("document not found")
)
