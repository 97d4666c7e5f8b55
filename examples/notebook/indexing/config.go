package indexing

import (
	"log/slog"
	"time"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/examples/notebook/note"
	"github.com/postbus/postbus/examples/notebook/search"
	"github.com/postbus/postbus/jobs"
)

// The names that the notebook declares.
const (
	App       = "notebook"
	Changed   = "notebook.note_changed" // the event type
	Index     = "notebook.index"        // the subscription
	Reconcile = "notebook.reconcile"    // the kind that fills an index that lacks notes
)

// maxAttempts and backoff bridge an outage of the search service of more than 8 hours.
const maxAttempts = 1000

// queue has more workers than usual: they wait for the search service most of the time, and those that wait together
// share a batch of it.
const (
	queue   = "index"
	workers = 16
)

var backoff = jobs.Exponential(time.Second, 2, 30*time.Second)

// Indexer brings notes to the search service.
type Indexer struct {
	Notes  *note.Store
	Search *search.Client
}

// Config is the notebook's declaration for the bus.
func (x *Indexer) Config(log *slog.Logger) postbus.Config {
	return postbus.Config{
		App:    App,
		Log:    log,
		Queues: map[string]int{queue: workers},
		Types: []events.Type{{
			Name: Changed, Description: "A note was written, its text was changed, or it was deleted.", Subject: "note id",
		}},
		Captures: []events.Capture{{
			Name: "notebook.notes", Table: note.Table, Type: Changed,
			Watch: []string{"title", "body"}, Owner: "it.owner_id", Subject: "it.id::text",
			Data: "pg_catalog.json_build_object('op', pg_catalog.lower(tg_op), 'version', it.version)",
		}},
		Subscriptions: []events.Subscription{{
			Name: Index, Types: []string{Changed}, Coalesce: true, Receipt: true, Queue: queue,
			MaxAttempts: maxAttempts, Backoff: backoff, Timeout: 15 * time.Second, Handle: x.handle,
		}},
		Kinds: []jobs.Kind{{
			Name: Reconcile, Queue: jobs.MaintenanceQueue,
			MaxAttempts: maxAttempts, Backoff: backoff, Timeout: 30 * time.Minute, Handle: x.reconcile,
		}},
	}
}
