package postbus_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
)

// Promise: a declaration that cannot be meant is refused at boot, with what to do.
func TestDeclarationsAreRefusedAtBoot(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	startBus(t, pool, postbus.Config{App: "other", Types: []events.Type{{Name: "other.thing"}, noteChanged}, Subscriptions: []events.Subscription{
		{Name: "other.sub", Types: []string{"*"}, Handle: ignore},
	}})
	sub := func(change func(*events.Subscription)) postbus.Config {
		s := to("mine.sub", ignore)
		change(&s)
		return postbus.Config{App: "mine", Types: []events.Type{}, Subscriptions: []events.Subscription{s}}
	}
	for name, c := range map[string]struct {
		cfg  postbus.Config
		want error
		says string
	}{
		"coalescing mail":    {sub(func(s *events.Subscription) { s.Coalesce, s.Effect = true, events.Mail }), events.ErrInvalid, "two facts"},
		"coalescing webhook": {sub(func(s *events.Subscription) { s.Coalesce, s.Effect = true, events.Delivery }), events.ErrInvalid, "two facts"},
		"glob of nothing":    {sub(func(s *events.Subscription) { s.Types = []string{"notes.*"} }), events.ErrInvalid, "matches no declared event type"},
		"bad glob":           {sub(func(s *events.Subscription) { s.Types = []string{"*.changed"} }), events.ErrInvalid, "glob"},
		"no types":           {sub(func(s *events.Subscription) { s.Types = nil }), events.ErrInvalid, "names no types"},
		"no handler":         {sub(func(s *events.Subscription) { s.Handle = nil }), events.ErrInvalid, "no Handle"},
		"another's name":     {sub(func(s *events.Subscription) { s.Name = "other.sub" }), events.ErrForeignName, "declared by other"},
		"another's type":     {postbus.Config{App: "mine", Types: []events.Type{{Name: "other.thing"}}}, events.ErrForeignName, "declared by other"},
		"bad type":           {postbus.Config{Types: []events.Type{{Name: "Note.Changed"}}}, events.ErrInvalid, "dotted lower-case"},
		"bad exposure":       {postbus.Config{Types: []events.Type{{Name: "a.b", Exposure: "public"}}}, events.ErrInvalid, "exposure"},
		"type twice":         {postbus.Config{Types: []events.Type{noteChanged, noteChanged}}, events.ErrInvalid, "declared twice"},
		"subscription twice": {postbus.Config{Subscriptions: []events.Subscription{to("a", ignore), to("a", ignore)}}, events.ErrInvalid, "declared twice"},
		"no app":             {postbus.Config{App: " "}, jobs.ErrInvalid, "application name"},
	} {
		bus, err := postbus.New(pool, quick(c.cfg))
		if err == nil {
			err = bus.Start(t.Context())
			_ = bus.Stop(context.Background())
		}
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %v that says %q", name, err, c.want, c.says)
		}
	}
}

// Promise: what the bus holds of the pool is at most half of it: chosen numbers that do not fit are refused with what to
// change, the house's own are scaled down so that a newcomer starts.
func TestPoolBudget(t *testing.T) {
	t.Parallel()
	kind := jobs.Kind{Name: "k", Queue: "index", HoldsConn: true, Handle: func(context.Context, jobsArgs) error { return nil }}
	small := testdb.New(t).Config()
	small.MaxConns = 4
	pool, err := newPool(t, small)
	if err != nil {
		t.Fatal(err)
	}
	cfg := quick(postbus.Config{Kinds: []jobs.Kind{kind}})
	if _, err := postbus.New(pool, cfg); err != nil {
		t.Errorf("the defaults do not fit a small pool: %v", err)
	}
	cfg.Queues = map[string]int{"index": 8}
	_, err = postbus.New(pool, cfg)
	if !errors.Is(err, jobs.ErrInvalid) || !strings.Contains(err.Error(), "MaxConns to ") {
		t.Errorf("8 workers that hold a connection on a pool of 4: %v", err)
	}
}
