package publishing

import (
	"slices"
	"time"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/examples/notebook/note"
	"github.com/postbus/postbus/webhooks"
)

// Published is the event type that leaves.
const Published = "notebook.note_published"

// failingWait is how long a new delivery waits while the receiver does not answer.
const failingWait = 2 * time.Second

// Data is the data of an event, as the capture records it.
type Data struct {
	// Change is what happened to the publication: published, changed or withdrawn.
	Change  string `json:"change"`
	Title   string `json:"title"`
	Version int64  `json:"version"`
}

// The changes of a publication.
const (
	New       = "published"
	Changed   = "changed"
	Withdrawn = "withdrawn"
)

const dataSQL = `pg_catalog.json_build_object(
	'change', case tg_op when 'INSERT' then '` + New + `' when 'UPDATE' then '` + Changed + `' else '` + Withdrawn + `' end,
	'title', it.title, 'version', it.version)`

// Declare adds webhooks to the notebook's declaration. key seals secrets.
func Declare(c *postbus.Config, key string) {
	c.Types = append(c.Types, events.Type{
		Name:        Published,
		Description: "A note was published, a published note was changed, or it was withdrawn or deleted.",
		Subject:     "note id", Exposure: events.Webhook,
	})
	c.Captures = append(c.Captures, events.Capture{
		Name: "notebook.publications", Table: note.PublicationsTable, Type: Published,
		Watch: []string{"title", "version"}, Owner: "it.owner_id", Subject: "it.note_id::text", Data: dataSQL,
	})
	c.Webhooks = &webhooks.Config{
		Keys: []string{key}, Allow: []string{"127.0.0.0/8", "::1"}, Schedule: schedule(), FailingWait: failingWait,
		UserAgent: "postbus-notebook",
	}
}

func schedule() []time.Duration {
	first := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second}
	return slices.Concat(first, slices.Repeat([]time.Duration{30 * time.Second}, 30), slices.Repeat([]time.Duration{10 * time.Minute}, 60))
}
