package building

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/examples/notebook/note"
	"github.com/postbus/postbus/examples/notebook/publishing"
	"github.com/postbus/postbus/jobs"
)

// The names that the site declares.
const (
	Build   = "notebook.build"     // the subscription that the builder serves
	Settled = "site.build.settled" // the event type
	Publish = "site.publish"       // its subscribers
	Assets  = "site.assets"
)

// Outcomes of a build.
const (
	Built     = "built"
	Withdrawn = "withdrawn"
)

// SettledData is the data of an event site.build.settled.
type SettledData struct {
	Build   string `json:"build"`
	Outcome string `json:"outcome"`
	Version int64  `json:"version"`
}

const settledSQL = `pg_catalog.json_build_object('build', it.id::text, 'outcome', it.outcome, 'version', it.version)`

// Declare adds the site to the notebook's declaration.
func Declare(c *postbus.Config, notes *note.Store) {
	s := &site{notes: notes}
	c.Types = append(c.Types, events.Type{
		Name: Settled, Description: "A page of the site was built, or its note was found withdrawn.", Subject: "note id",
	})
	c.Captures = append(c.Captures, events.Capture{
		Name: "notebook.builds", Table: note.BuildsTable, Type: Settled, On: []events.Op{events.Insert},
		Owner: "it.owner_id", Subject: "it.note_id::text", Data: settledSQL,
	})
	c.Subscriptions = append(c.Subscriptions,
		events.Subscription{
			Name: Build, Types: []string{publishing.Published}, External: true, Coalesce: true,
			MaxAttempts: 50, Timeout: 10 * time.Second, Backoff: jobs.Exponential(time.Second, 2, time.Minute),
		},
		events.Subscription{Name: Publish, Types: []string{Settled}, Handle: s.publish},
		events.Subscription{Name: Assets, Types: []string{Settled}, Handle: s.assets},
	)
}

// site follows what the builder settles.
type site struct{ notes *note.Store }

func (s *site) publish(ctx context.Context, e events.Event) error {
	var data SettledData
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return jobs.Discard(fmt.Errorf("read the data of %s: %w", e.Type, err))
	}
	if data.Outcome == Withdrawn {
		return s.notes.WithdrawPage(ctx, e.Subject)
	}
	return s.notes.PublishPage(ctx, e.Subject, data.Version)
}

func (s *site) assets(ctx context.Context, e events.Event) error {
	return s.notes.KeepAssets(ctx, e.Subject)
}
