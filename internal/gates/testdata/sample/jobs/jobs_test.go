package jobs

import _ "github.com/riverqueue/river" // want river
