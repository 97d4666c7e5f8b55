package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/mail"
	"github.com/postbus/postbus/pg"
	"github.com/postbus/postbus/webhooks"
)

// victim is an owner with a thing of every kind; its name is in all of them.
const victim = "victim"

// populate answers the ids of the victim's things by kind.
func populate(t *testing.T, r *Registry) map[string]string {
	t.Helper()
	job, err := r.deps.Runtime.Enqueue(t.Context(), "work", map[string]string{"of": victim}, jobs.EnqueueOpts{Owner: victim})
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := r.deps.Webhooks.Create(t.Context(), webhooks.EndpointSpec{
		OwnerID: victim, URL: "http://127.0.0.1:9999/" + victim, Types: []string{"note.changed"},
	})
	if err != nil {
		t.Fatal(err)
	}
	rule, err := r.deps.Mail.CreateRule(t.Context(), mail.RuleSpec{
		OwnerID: victim, Name: victim, Types: []string{"note.changed"}, To: []string{victim + "@example.com"}, Subject: victim, Text: victim,
	})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{"job": string(job), "endpoint": endpoint.ID, "rule": rule.ID}
	err = pg.InTx(t.Context(), r.deps.Pool, func(ctx context.Context, tx pgx.Tx) error {
		event, err := r.deps.Events.RecordReturning(ctx, tx, victim, "note.changed", victim+"/1", map[string]string{"of": victim})
		if err != nil {
			return err
		}
		ids["event"] = event
		for kind, insert := range map[string]string{
			"act": `insert into postbus.bulk_acts (act, filter, owner_id, who) values ('retry', json_build_object('kinds', json_build_array($3::text)), $3, $3)
				returning id::text, coalesce($1::text, $2::text)`,
			"replay": `insert into postbus.replays (target, name, owner_id, until) values ('endpoint', $1, $3, now()) returning id::text, $2::text`,
			"delivery": `insert into postbus.webhook_deliveries (endpoint_id, event_id, event_seq, event_type, owner_id, subject, occurred_at, state, next_attempt_at, expires_at)
				values ($1::uuid, $2::uuid, 1, 'note.changed', $3, $3, now(), 'pending', now(), now() + interval '1 day') returning id::text, $2::text`,
		} {
			var id string
			if err := tx.QueryRow(ctx, insert, endpoint.ID, event, victim).Scan(&id, nil); err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
			ids[kind] = id
		}
		sent, err := r.deps.Mail.With(tx).SendTest(ctx, rule.ID, victim+"@example.com", nil)
		if err != nil {
			return err
		}
		ids["mail"] = sent.ID
		_, err = tx.Exec(ctx, `insert into postbus.webhook_attempts (delivery_id, n, endpoint_id, attempted_at, url, spent, latency_ms, error)
			values ($1::text::bigint, 1, $2, now(), $3, true, 1, $3)`, ids["delivery"], endpoint.ID, victim)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// state is all that the victim has, to see that nobody touched it.
func state(t *testing.T, r *Registry) (all string) {
	t.Helper()
	err := r.deps.Pool.QueryRow(t.Context(), `select concat(
		(select json_agg(j order by id) from postbus.river_job j where metadata ->> 'owner' = $1),
		(select json_agg(e order by seq) from postbus.events e where owner_id = $1),
		(select json_agg(w order by id) from postbus.webhook_endpoints w where owner_id = $1),
		(select json_agg(s order by s::text) from postbus.webhook_secrets s join postbus.webhook_endpoints w on w.id = s.endpoint_id where w.owner_id = $1),
		(select json_agg(d order by id) from postbus.webhook_deliveries d where owner_id = $1),
		(select json_agg(a order by id) from postbus.bulk_acts a where owner_id = $1),
		(select json_agg(r order by id) from postbus.mail_rules r where owner_id = $1),
		(select json_agg(m order by id) from postbus.mails m where owner_id = $1),
		(select json_agg(p order by id) from postbus.replays p where owner_id = $1))`, victim).Scan(&all)
	if err != nil || strings.Count(all, victim) < 9 {
		t.Fatalf("the victim has %q, %v", all, err)
	}
	return all
}

// tries are the inputs with which a caller reaches for the victim's things: the least one, the victim as owner_id, and every id of
// the victim's in every field that takes one.
func tries(o *Operation, ids map[string]string) (inputs []string) {
	base := least(o.Input).(map[string]any)
	with := func(field, value string) {
		in := maps.Clone(base)
		in[field] = value
		raw, _ := json.Marshal(in) // maps, strings and numbers
		inputs = append(inputs, string(raw))
	}
	if idField(o) == "" {
		inputs = append(inputs, string(minimal(o.Input)))
	}
	for _, field := range slices.Sorted(maps.Keys(o.Input.Properties)) {
		switch {
		case field == "owner_id":
			if idField(o) == "" {
				with(field, victim)
			}
		case isID(field):
			for _, kind := range slices.Sorted(maps.Keys(ids)) {
				with(field, ids[kind])
			}
		}
	}
	return inputs
}

// A caller who is bound to one owner neither sees nor touches what is another's, by any operation, dry runs and their
// confirmations included: it is not found.
func TestOwnersAreIsolated(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	bound := Identity{Name: "token:bound", Scopes: []Access{Act, Record}, Owner: "other"}
	alone := views(t, r, bound)
	ids := populate(t, r)
	before := state(t, r)
	if beside := views(t, r, bound); !maps.Equal(beside, alone) { // counts and sums too
		t.Errorf("a bound caller sees that there is another:\n%v\nwas\n%v", beside, alone)
	}
	for _, o := range ownedOperations(r) {
		for _, input := range tries(o, ids) {
			seen, told := reach(t, r, bound, o, input)
			if strings.Contains(seen, victim) {
				t.Errorf("%s %s shows a bound caller what is another's: %s", o.Name, input, seen)
			}
			if field := idField(o); field != "" && (told == nil || told.Code == Conflict) {
				t.Errorf("%s %s: a bound caller gets at what is another's: %v %s", o.Name, input, told, seen)
			}
		}
	}
	if after := state(t, r); after != before {
		t.Errorf("a bound caller touched what is another's:\n%s\nis now\n%s", before, after)
	}
}

// The tries of TestOwnersAreIsolated would reach the victim's things: an unbound caller's do, by every operation that takes an id.
func TestIsolationIsTried(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	free := Identity{Name: "token:free", Scopes: []Access{Act, Record}}
	for _, o := range ownedOperations(r) {
		reached := idField(o) == ""
		for _, input := range tries(o, populate(t, r)) {
			_, told := reach(t, r, free, o, input)
			reached = reached || told == nil || told.Code == Conflict
		}
		if !reached {
			t.Errorf("%s reaches nothing of the victim's, so that its isolation is not tested: teach populate or tries what it takes", o.Name)
		}
	}
}

// views are what a caller sees in all reads that need not be told what they are about.
func views(t *testing.T, r *Registry, who Identity) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for _, o := range ownedOperations(r) {
		if !o.Writes() && idField(o) == "" {
			seen[o.Name], _ = reach(t, r, who, o, string(minimal(o.Input)))
		}
	}
	return seen
}

// ownedOperations are those that an owner's token can call.
func ownedOperations(r *Registry) []*Operation {
	return slices.DeleteFunc(r.All(), func(o *Operation) bool { return o.Global || o.Access == Admin })
}

// idField is the field by which an operation must be told what it is about, or "".
func idField(o *Operation) string {
	for _, field := range o.Input.Required {
		if isID(field) {
			return field
		}
	}
	return ""
}

func isID(field string) bool {
	return field != "owner_id" && (field == "id" || strings.HasSuffix(field, "_id"))
}

// reach makes a call, and where it is answered by a dry run the second one too. It answers all that the caller was shown.
func reach(t *testing.T, r *Registry, who Identity, o *Operation, input string) (seen string, told *Error) {
	t.Helper()
	req := Request{Operation: o.Name, Who: who, Face: HTTP, Input: json.RawMessage(input)}
	for {
		answer, err := r.Do(t.Context(), req)
		if told := Explain(err); told != nil {
			if told.Code == Internal || told.Code == Unavailable {
				t.Errorf("%s %s: %v: %v", o.Name, input, told, told.Unwrap())
			}
			return seen + echoless(told.Error(), input), told
		}
		raw, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		seen += string(raw)
		if answer.DryRun == nil {
			return seen, nil
		}
		if who.Owner != "" && answer.DryRun.Count > 0 {
			t.Errorf("%s %s would touch %d things of another's", o.Name, input, answer.DryRun.Count)
		}
		req.Confirm = answer.DryRun.Confirm
	}
}

// echoless drops from an error what the caller said: that owner_id is not theirs.
func echoless(text, input string) string {
	if strings.Contains(input, victim) {
		return strings.ReplaceAll(text, victim, "")
	}
	return text
}
