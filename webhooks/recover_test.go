package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/pg"
)

// walk runs a replay's job to its end.
func (o *office) walk(r events.Replay) events.Replay {
	o.t.Helper()
	for _, kind := range o.bus.Kinds() {
		if kind.Name == ReplayKind {
			if err := kind.Handle(o.t.Context(), json.RawMessage(fmt.Sprintf(`{"replay_id":%q}`, r.ID))); err != nil {
				o.t.Log(err)
			}
		}
	}
	r, err := o.bus.Replay(o.t.Context(), r.ID)
	if err != nil {
		o.t.Fatal(err)
	}
	return r
}

func (o *office) replay(id string, types ...string) events.Replay {
	o.t.Helper()
	r, err := o.Replay(o.t.Context(), id, time.Time{}, time.Time{}, types)
	if err != nil {
		o.t.Fatal(err)
	}
	return o.walk(r)
}

func (o *office) recover(id string, since time.Time) events.Replay {
	o.t.Helper()
	r, err := o.Recover(o.t.Context(), id, since, time.Time{})
	if err != nil {
		o.t.Fatal(err)
	}
	return o.walk(r)
}

func (o *office) states() string {
	o.t.Helper()
	return one[string](o.t, o.pool, `select coalesce(string_agg(subject || ' ' || origin || ' ' || state, ', ' order by event_seq), '')
		from postbus.webhook_deliveries`)
}

// The history of an owner goes to a new endpoint, each event once, however often it is replayed.
func TestReplayToANewEndpoint(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	for i := range 3 {
		e := o.record(fmt.Sprint("s", i), fmt.Sprintf(`{"n":%d}`, i))
		if err := o.fanOut(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	o.recordAs(internalType, "internal", `{"n":0}`)
	waiting := o.record("s0", `{"n":0}`) // its fan-out comes after the replay, and finds the delivery there
	id := o.endpoint(ordered, func(s *EndpointSpec) { s.Scope.Data = map[string][]any{"n": {0, 2}} }).ID
	r := o.replay(id)
	if r.State != events.ReplayDone || r.Matched != 3 || r.Queued != 3 {
		t.Errorf("%s, matched %d, queued %d (%s); want 3 and 3", r.State, r.Matched, r.Queued, r.Error)
	}
	if got := o.states(); got != "s0 replay pending, s2 replay pending, s0 replay pending" {
		t.Error(got)
	}
	if r := o.replay(id); r.Matched != 0 || r.Queued != 0 {
		t.Errorf("again: matched %d, queued %d", r.Matched, r.Queued)
	}
	if n := o.count(`select count(*) from postbus.webhook_slots where job_id is not null`); n != 1 {
		t.Errorf("%d lanes, want 1", n)
	}
	if err := o.fanOut(t.Context(), waiting); err != nil {
		t.Fatal(err)
	}
	a := o.account()
	if a.Unaccounted != 0 || a.Matched != 1 || a.Fanout.Pending != 1 || a.Replays.Pending != 2 || a.Events != 4 || a.FannedOut != 4 {
		t.Errorf("%+v", a)
	}
}

func TestReplayAsksForTypesAndFilter(t *testing.T) {
	t.Parallel()
	o := newOffice(t, func(c *Config) {
		c.Filter = func(_ context.Context, _ Endpoint, event events.Event) bool { return string(event.Data) == `{"n":1}` }
	})
	for i := range 25 { // more than are loaded at a time
		if err := o.fanOut(t.Context(), o.record("s", fmt.Sprintf(`{"n":%d}`, i%2))); err != nil {
			t.Fatal(err)
		}
	}
	id := o.endpoint().ID
	if r := o.replay(id, "other.*"); r.Matched != 0 {
		t.Errorf("another type: matched %d", r.Matched)
	}
	if r := o.replay(id, exposedType); r.Matched != 12 || r.Queued != 12 {
		t.Errorf("matched %d, queued %d; want 12", r.Matched, r.Queued)
	}
}

// Recover sends what failed or met a disabled endpoint; what was delivered or cancelled stays.
func TestRecover(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.endpoint().ID
	old, discarded, delivered, cancelled := o.delivery("old"), o.delivery("discarded"), o.delivery("delivered"), o.delivery("cancelled")
	o.settleAs(old, Discarded, "why")
	o.settleAs(discarded, Discarded, "why")
	o.settleAs(delivered, Delivered, "")
	if err := o.Cancel(t.Context(), cancelled.ID); err != nil {
		t.Fatal(err)
	}
	o.update(id, EndpointPatch{Enabled: ptr(false)})
	o.delivery("skipped")
	if _, err := o.Recover(t.Context(), id, time.Time{}, time.Time{}); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "enable it first") {
		t.Errorf("disabled: %v, want ErrConflict", err)
	}
	o.update(id, EndpointPatch{Enabled: ptr(true)})
	if a := o.account(); a.Unaccounted != 0 || a.Fanout.Skipped != 1 || a.Fanout.SkipReasons["endpoint disabled"] != 1 ||
		a.Fanout.DiscardReasons["cancelled by hand"] != 1 || a.Fanout.DiscardReasons["why"] != 2 {
		t.Errorf("%+v", a)
	}
	r := o.recover(id, discarded.OccurredAt)
	if r.Matched != 2 || r.Queued != 2 {
		t.Errorf("matched %d, queued %d, %s; want 2", r.Matched, r.Queued, r.Error)
	}
	want := "old fanout discarded, discarded fanout pending, delivered fanout delivered, cancelled fanout discarded, skipped fanout pending"
	if diff := cmp.Diff(want, o.states()); diff != "" {
		t.Error(diff)
	}
	if a := o.account(); a.Unaccounted != 0 || a.Matched != 5 {
		t.Errorf("%+v", a)
	}
}

// Where the endpoint is disabled or deleted on the way the replay ends as failed; what was queued stays with the endpoint.
func TestReplayEndsWithItsEndpoint(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(o *office, id string) error{
		"deleted": func(o *office, id string) error { return o.Delete(t.Context(), id) },
		"disabled": func(o *office, id string) error {
			_, err := o.Update(t.Context(), id, EndpointPatch{Enabled: ptr(false)})
			return err
		},
	} {
		o := newOffice(t, nil)
		if err := o.fanOut(t.Context(), o.record("s", `{}`)); err != nil {
			t.Fatal(err)
		}
		id := o.endpoint().ID
		r, err := o.Replay(t.Context(), id, time.Time{}, time.Time{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := spoil(o, id); err != nil {
			t.Fatal(err)
		}
		if r := o.walk(r); r.State != events.ReplayFailed || r.Error == "" {
			t.Errorf("%s: %s (%s), want failed", name, r.State, r.Error)
		}
	}
}

func TestReplayRefusals(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.endpoint().ID
	if _, err := o.Replay(t.Context(), newUUID(), time.Time{}, time.Time{}, nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v, want ErrNotFound", err)
	}
	for says, spec := range map[string]events.ReplaySpec{
		"of owner":      {OwnerID: "other"},
		`mode "x"`:      {Options: json.RawMessage(`{"mode":"x"}`)},
		"unknown field": {Options: json.RawMessage(`{"missed_only":true}`)},
	} {
		spec.Target, spec.Name = events.ReplayEndpoint, id
		err := pg.InTx(t.Context(), o.pool, func(ctx context.Context, tx pgx.Tx) error {
			_, err := o.bus.StartReplay(ctx, tx, spec)
			return err
		})
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want ErrInvalid that says %q", err, says)
		}
	}
}
