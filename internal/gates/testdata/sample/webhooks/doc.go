// Package webhooks leaves exports without a word.
package webhooks

import _ "github.com/riverqueue/river" // want pulls river

// want+2 comments

const Limit = 3

const Told = 4 // A word behind a name counts.

// Grouped constants share one comment.
const (
	A = iota
	B
)

type (
	// Attempt is told.
	Attempt struct{}

	// want+2 comments

	Bare struct{}
)

func Send() { // want comments
}

func (Attempt) Retry() { // want comments
}

func (*Attempt) Skip() { // want comments
}

func (Attempt) String() string { return "" }

func (hidden) Exported() {}

type hidden struct{}

func (Many[K, V]) Get() { // want comments
}

// Many is told.
type Many[K, V any] struct{}
