package main

import (
	"fmt"
	"io"
	"time"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/examples/notebook/publishing"
	"github.com/postbus/postbus/examples/notebook/receiver"
	"github.com/postbus/postbus/webhooks"
)

// arrivals compares what was recorded with what the receiver says it has.
type arrivals struct {
	deliveries map[string]webhooks.Delivery // by event
	kept       map[string]int               // how often the receiver has an event
	recorded   map[string]bool
	incomplete map[string]bool // notes of which an event is missing

	published, verified, delivered, fresh int
	missing, foreign                      []string
}

func (c *arrivals) check(e events.Detail, since time.Time) {
	c.recorded[e.ID] = true
	if !e.OccurredAt.Before(since) {
		c.fresh++
	}
	d, sent := c.deliveries[e.ID]
	if d.State == webhooks.Delivered {
		c.delivered++
	}
	stands := "no delivery was made (the event is " + string(e.Status) + ")"
	if sent {
		stands = publishing.Words(d)
	}
	switch n := c.kept[e.ID]; {
	case n == 1 && d.State == webhooks.Delivered:
		c.verified++
		return
	case n == 1:
		c.verified++
		c.missing = append(c.missing, fmt.Sprintf("event %s of note %s is at the receiver, but here: %s", e.ID, e.Subject, stands))
	case n > 1:
		c.missing = append(c.missing, fmt.Sprintf("event %s of note %s is %d times at the receiver, not once", e.ID, e.Subject, n))
	default:
		c.missing = append(c.missing, fmt.Sprintf("event %s of note %s is not at the receiver: %s", e.ID, e.Subject, stands))
	}
	c.incomplete[e.Subject] = true
}

func has(messages []receiver.Message, version int64) bool {
	for _, m := range messages {
		if m.Change != publishing.Withdrawn && m.Version >= version {
			return true
		}
	}
	return false
}

func (c *arrivals) report(out io.Writer, got receiver.Received) error {
	fmt.Fprintf(out, "webhooks  %d published, %d events, %d delivered, %d verified by the receiver, %d missing, %d not ours, %d repeated, %d new\n",
		c.published, len(c.recorded), c.delivered, c.verified, len(c.missing), len(c.foreign), got.Repeated, c.fresh)
	for _, miss := range c.missing[:min(len(c.missing), missesShown)] {
		fmt.Fprintf(out, "missing   %s\n", miss)
	}
	for _, f := range c.foreign[:min(len(c.foreign), missesShown)] {
		fmt.Fprintf(out, "not ours  %s\n", f)
	}
	if len(c.missing)+len(c.foreign) > 0 {
		return fmt.Errorf("webhooks: %d missing at the receiver, %d there that are not ours", len(c.missing), len(c.foreign))
	}
	return nil
}
