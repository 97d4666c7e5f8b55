// Package river may import riverqueue, and must not see a room above it.
package river

import (
	"github.com/riverqueue/river"

	_ "github.com/postbus/postbus/mail" // want arrows
)

// Client is a client.
type Client = river.Client
