package postbus

import (
	_ "github.com/postbus/postbus/events"
	_ "github.com/postbus/postbus/jobs/river"
	_ "github.com/postbus/postbus/ops"
	_ "github.com/postbus/postbus/ops/http" // want arrows pulls
)
