// Package jobs sees a room above it.
package jobs

import _ "github.com/postbus/postbus/pg" // want pulls
