// Package river may import riverqueue, and must not see a room above it.
package river

import (
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"

	_ "github.com/postbus/postbus/mail" // want arrows
)

// Client is a client.
type Client = river.Client

func begin(driver riverdriver.Executor) {
	_, _ = driver.Begin() // want begin
}
