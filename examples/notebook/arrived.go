package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/examples/notebook/note"
	"github.com/postbus/postbus/examples/notebook/publishing"
	"github.com/postbus/postbus/examples/notebook/receiver"
	"github.com/postbus/postbus/webhooks"
)

// eventsKept is how long events are kept at least, by the bus's default: an older message's event may be pruned.
const eventsKept = 7 * 24 * time.Hour

// undelivered says which webhooks are still on their way, "" where none is.
func (a *app) undelivered(ctx context.Context) (string, error) {
	e, err := a.publisher.Endpoint(ctx)
	if err != nil || e == nil {
		return "", err
	}
	page, err := a.bus.Webhooks().Deliveries(ctx, webhooks.DeliveryFilter{
		EndpointID: e.ID, States: []webhooks.DeliveryState{webhooks.Pending}, Limit: 200,
	})
	if err != nil || len(page.Deliveries) == 0 {
		return "", err
	}
	more := ""
	if page.Next != "" {
		more = " or more"
	}
	oldest := page.Deliveries[len(page.Deliveries)-1]
	return fmt.Sprintf("%d%s webhooks to %s (%s)", len(page.Deliveries), more, e.URL, publishing.Words(oldest)), nil
}

// checkWebhooks fails unless every event of a published note is at the receiver, verified and once, and nothing else is.
func (a *app) checkWebhooks(ctx context.Context, out io.Writer, since time.Time) error {
	e, err := a.publisher.Endpoint(ctx)
	if err != nil {
		return err
	}
	if e == nil {
		return errors.New("webhooks: there is no endpoint")
	}
	c := &arrivals{kept: map[string]int{}, recorded: map[string]bool{}, incomplete: map[string]bool{}}
	if c.deliveries, err = a.deliveries(ctx, e.ID); err != nil {
		return err
	}
	got, err := receiver.Ask(ctx, e.URL)
	if err != nil {
		return err
	}
	for _, messages := range got.Subjects {
		for _, m := range messages {
			c.kept[m.ID]++
		}
	}
	for _, step := range []func() error{
		func() error { return a.checkEvents(ctx, c, since) },
		func() error { return a.checkNotes(ctx, c, got) },
		func() error { return a.checkForeign(ctx, c, got) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return c.report(out, got)
}

func (a *app) deliveries(ctx context.Context, endpointID string) (map[string]webhooks.Delivery, error) {
	all := map[string]webhooks.Delivery{}
	filter := webhooks.DeliveryFilter{EndpointID: endpointID, EventType: publishing.Published, Limit: 200}
	for {
		page, err := a.bus.Webhooks().Deliveries(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, d := range page.Deliveries {
			all[d.EventID] = d
		}
		if filter.Cursor = page.Next; page.Next == "" {
			return all, nil
		}
	}
}

// checkEvents looks for every event at the receiver.
func (a *app) checkEvents(ctx context.Context, c *arrivals, since time.Time) error {
	filter := events.Filter{Types: []string{publishing.Published}, OwnerID: owner, Limit: 200}
	for {
		page, err := a.bus.Events().List(ctx, filter)
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			c.check(e, since)
		}
		if filter.Cursor = page.Next; page.Next == "" {
			return nil
		}
	}
}

// checkNotes looks for every published note, as it is now, at the receiver: events are pruned in time, notes are not.
func (a *app) checkNotes(ctx context.Context, c *arrivals, got receiver.Received) error {
	return a.notes.Publications(ctx, owner, 500, func(page []note.Publication) error {
		for _, p := range page {
			c.published++
			if !c.incomplete[p.NoteID] && !has(got.Subjects[p.NoteID], p.Version) {
				c.missing = append(c.missing, fmt.Sprintf("version %d of note %s (%q) is not at the receiver", p.Version, p.NoteID, p.Title))
			}
		}
		return nil
	})
}

// checkForeign looks at what the receiver has and is not among the events: each must be one that is known here.
func (a *app) checkForeign(ctx context.Context, c *arrivals, got receiver.Received) error {
	now, err := a.notes.Now(ctx)
	if err != nil {
		return err
	}
	for _, messages := range got.Subjects {
		for _, m := range messages {
			if c.recorded[m.ID] || m.OccurredAt.Before(now.Add(-eventsKept)) {
				continue
			}
			_, err := a.bus.Events().Get(ctx, m.ID)
			if errors.Is(err, events.ErrNotFound) {
				c.foreign = append(c.foreign, fmt.Sprintf("%s %s of %s", m.Type, m.ID, m.Subject))
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}
