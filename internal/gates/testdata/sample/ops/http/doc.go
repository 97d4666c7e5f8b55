// Package http is a face: it may pull huma, and must not see a face beside it.
package http

import (
	_ "github.com/danielgtaylor/huma/v2"
	_ "github.com/postbus/postbus/ops"
	_ "github.com/postbus/postbus/panel" // want arrows
)
