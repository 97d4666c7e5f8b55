// Package work says what it is for in another file than doc.go.
package work // want docgo

import (
	_ "github.com/danielgtaylor/huma/v2"      // want pulls
	_ "github.com/postbus/postbus/jobs/river" // want arrows pulls
	_ "github.com/postbus/postbus/webhooks"   // want arrows pulls
)
