package ops

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/mail"
	"github.com/postbus/postbus/webhooks"
)

// fixture is a registry over a database whose bus does not run.
func fixture(t testing.TB) (*Registry, *river.Runtime) {
	t.Helper()
	return fixtureOn(t, testdb.New(t))
}

// fixtureOn is fixture over a database that is at hand.
func fixtureOn(t testing.TB, pool *pgxpool.Pool) (*Registry, *river.Runtime) {
	t.Helper()
	hooks, err := webhooks.New(pool, webhooks.Config{Keys: []string{"k1:a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="}, Allow: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	mails, err := mail.New(pool, mail.Config{})
	if err != nil {
		t.Fatal(err)
	}
	bus, err := events.New(pool, events.Config{
		App: "app", Types: []events.Type{{Name: "note.changed", Exposure: events.Webhook}, {Name: "note.secret"}},
		Subscriptions: append(hooks.Subscriptions(), mails.Subscriptions()...),
	})
	if err != nil {
		t.Fatal(err)
	}
	bus.AddReplayTarget(hooks.ReplayTarget())
	noop := func(context.Context, json.RawMessage) error { return nil }
	runtime, err := river.New(pool, river.Config{
		App: "app", Kinds: append(append(bus.Kinds(), hooks.Kinds()...), mails.Kinds()[0], jobs.Kind{Name: "work", Queue: "default", MaxAttempts: 3, Handle: noop}),
		Queues: map[string]int{"default": 1, "maintenance": 1, webhooks.FanoutQueue: 1, webhooks.DeliverQueue: 1, webhooks.FailingQueue: 1, mail.FanoutQueue: 1, mail.NotifyQueue: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	bus.Bind(runtime)
	hooks.Bind(bus, runtime)
	mails.Bind(bus, runtime)
	if err := bus.Declare(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := New(Deps{Pool: pool, Events: bus, Runtime: runtime, Webhooks: hooks, Mail: mails, Alerts: bus.Alerts, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return r, runtime
}

var operator = Identity{Name: "account:ann", Scopes: []Access{Act}}

func do(t testing.TB, r *Registry, who Identity, name, input string) (Answer, *Error) {
	t.Helper()
	answer, err := r.Do(t.Context(), Request{Operation: name, Who: who, Face: HTTP, Input: json.RawMessage(input)})
	if err == nil {
		return answer, nil
	}
	var told *Error
	if !errors.As(err, &told) {
		t.Fatalf("%s: %v is no *Error", name, err)
	}
	return answer, told
}

// An act and its audit line commit together; what is another owner's is not found.
func TestActIsOnRecord(t *testing.T) {
	t.Parallel()
	r, runtime := fixture(t)
	id, err := runtime.Enqueue(t.Context(), "work", struct{}{}, jobs.EnqueueOpts{Owner: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	if _, told := do(t, r, operator, "tasks.retry", `{"id":"`+string(id)+`"}`); told != nil {
		t.Fatal(told)
	}
	var line string
	err = r.deps.Pool.QueryRow(t.Context(), `select who || ' ' || operation || ' ' || owner_id || ' ' || result || ' ' || input from postbus.audit`).Scan(&line)
	if err != nil || line != `account:ann tasks.retry ann ok {"id":"`+string(id)+`"}` {
		t.Errorf("audit %q, %v", line, err)
	}
	bob := Identity{Name: "token:bob", Scopes: []Access{Act}, Owner: "bob"}
	if _, told := do(t, r, bob, "tasks.get", `{"id":"`+string(id)+`"}`); told == nil || told.Code != NotFound {
		t.Errorf("another owner's job: %v", told)
	}
}

// Input that cannot be meant is refused with the field; nothing is done.
func TestInputIsChecked(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	for input, want := range map[string]Code{
		`{}`: Invalid, `{"id":1}`: Invalid, `{"id":"1","more":1}`: Invalid, `[]`: Invalid, `{"id":"a\u0000"}`: Invalid,
		`{"id":"` + strings.Repeat("x", 50) + `"}`: Invalid, `{"id":"1"} {}`: Invalid, `{"id":"none"}`: NotFound,
		`{"id":` + strings.Repeat("[", 100) + `}`: Invalid, "{\"id\":\"\xff\"}": Invalid,
		`{"id":"` + strings.Repeat("x", MaxInput) + `"}`: TooLarge,
	} {
		if _, told := do(t, r, operator, "tasks.get", input); told == nil || told.Code != want {
			t.Errorf("%.60s: %v, want %s", input, told, want)
		}
	}
	if _, told := do(t, r, Identity{}, "tasks.get", `{"id":"1"}`); told == nil || told.Code != Unauthenticated {
		t.Errorf("anonymous: %v", told)
	}
	reader := Identity{Name: "token:r", Scopes: []Access{Read}}
	if _, told := do(t, r, reader, "tasks.retry", `{"id":"1"}`); told == nil || told.Code != Forbidden {
		t.Errorf("a reader acts: %v", told)
	}
}

// An act that somebody may not do is on record, with its input where it fits; a read that is refused is not.
func TestRefusedActIsOnRecord(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	reader := Identity{Name: "account:bob", Scopes: []Access{Read}}
	refused(t, r, reader, "tasks.pause", `{"queue":"default"}`, Forbidden)
	refused(t, r, reader, "tasks.pause", `{"what":["ever"]}`, Forbidden)
	refused(t, r, reader, "tokens.list", `{}`, Forbidden)
	var lines string
	err := r.deps.Pool.QueryRow(t.Context(), `select string_agg(who || ' ' || operation || ' ' || result || ' ' || input, '; ' order by id) from postbus.audit`).Scan(&lines)
	if want := `account:bob tasks.pause forbidden {"queue":"default"}; account:bob tasks.pause forbidden {}`; err != nil || lines != want {
		t.Errorf("audit %q (%v), want %q", lines, err, want)
	}
}
