package seed

import (
	"context"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Call is one input of an operation.
type Call struct {
	// Name says what is special about the input.
	Name  string
	Input json.RawMessage
}

// in is an input under construction.
type in map[string]any

// maker makes the calls of one variation.
type maker struct {
	n                    int // which rows the inputs are about, 1 to 90,000
	job, event, delivery string
	calls                map[string][]Call
}

const findDelivery = `
select d.id::text, d.event_id::text from postbus.webhook_deliveries as d where d.id <= 20000000 - $1::bigint order by d.id desc limit 1`

// Calls answers the inputs of every operation that reads, by the operation's name. Variations ask about other rows.
func Calls(ctx context.Context, pool *pgxpool.Pool, variation int) (map[string][]Call, error) {
	m := &maker{n: 21_000 + variation*613%60_000, calls: map[string][]Call{}}
	m.job = fmt.Sprint(20_000_000 - m.n)
	if err := pool.QueryRow(ctx, findDelivery, m.n).Scan(&m.delivery, &m.event); err != nil {
		return nil, fmt.Errorf("seed: find a delivery: %w", err)
	}
	m.tasks()
	m.events()
	m.webhooks()
	if err := m.mail(ctx, pool); err != nil {
		return nil, err
	}
	m.rest()
	return m.calls, nil
}

// add adds an input. pairs are names and values.
func (m *maker) add(operation, name string, input in) {
	raw, err := json.Marshal(input)
	if err != nil {
		panic(err) // it is built of maps, strings and numbers
	}
	m.calls[operation] = append(m.calls[operation], Call{Name: name, Input: raw})
}

func (m *maker) tasks() {
	m.add("tasks.get", "one", in{"id": m.job})
	m.add("tasks.overview", "all", in{})
	m.add("tasks.overview", "a kind", in{"kind": "webhook.deliver"})
	m.add("tasks.overview", "a rare kind", in{"kind": "rare.kind"})
	for _, operation := range []string{"tasks.kinds", "tasks.queues", "tasks.periodic"} {
		m.add(operation, "all", in{})
	}
	m.lists("tasks.list", m.taskFilters())
	m.add("tasks.bulk_act", "one", in{"id": id("bulk", 7)})
	m.lists("tasks.bulk_acts", map[string]in{
		"all": {}, "act": {"act": "cancel"}, "state": {"state": "running"}, "owner": {"owner_id": "big"}, "rare owner": {"owner_id": "rare"},
	})
}

func (m *maker) taskFilters() map[string]in {
	filters := map[string]in{
		"all": {}, "ids": {"ids": []string{m.job, "1"}}, "times": m.times(),
		"kind": {"kinds": []string{"note.index"}}, "kinds": {"kinds": []string{"mail.send", "report.build", "rare.kind"}},
		"rare kind": {"kinds": []string{"rare.kind"}}, "no such kind": {"kinds": []string{"none"}},
		"queue": {"queues": []string{"mail"}}, "rare queue": {"queues": []string{"rare"}}, "no such queue": {"queues": []string{"none"}},
		"owner": {"owner_id": m.owner()}, "big owner": {"owner_id": "big"}, "rare owner": {"owner_id": "rare"},
		"args": {"args": in{"n": m.n}}, "common args": {"args": in{"shape": "note"}}, "middling args": {"args": in{"shard": 7}},
		"no such args": {"args": in{"n": "none"}}, "unacknowledged": {"unacknowledged": true},
		"kind and state":     {"kinds": []string{"note.index"}, "states": []string{"discarded"}},
		"kind and queue":     {"kinds": []string{"note.index"}, "queues": []string{"rare"}},
		"kind and owner":     {"kinds": []string{"crm.sync"}, "owner_id": "big"},
		"owner and state":    {"owner_id": m.owner(), "states": []string{"discarded"}},
		"owner and args":     {"owner_id": "big", "args": in{"shard": 7}},
		"unacknowledged of":  {"kinds": []string{"bill.charge"}, "unacknowledged": true, "owner_id": "big"},
		"kind and args":      {"kinds": []string{"crm.sync"}, "args": in{"shard": 7}},
		"all of them":        {"kinds": []string{"mail.send"}, "queues": []string{"mail"}, "states": []string{"discarded", "cancelled"}, "owner_id": "big", "args": in{"shape": "note"}},
		"state and times":    m.with(m.times(), "states", []string{"discarded"}),
		"open, no such kind": {"kinds": []string{"none"}, "states": []string{"pending", "running", "retryable"}},
		"next page":          {"cursor": "j" + m.job},
	}
	for _, state := range []string{"pending", "running", "retryable", "completed", "discarded", "cancelled"} {
		filters[state] = in{"states": []string{state}}
	}
	return filters
}

func (m *maker) events() {
	m.add("events.get", "one", in{"id": m.event})
	m.add("events.types", "all", in{})
	m.add("events.subscriptions", "all", in{})
	m.add("events.get_replay", "one", in{"id": id("replay", 7)})
	m.lists("events.replays", map[string]in{
		"all": {}, "target": {"target": "endpoint"}, "name": {"name": "none"}, "state": {"state": "running"}, "owner": {"owner_id": "big"},
		"rare owner": {"owner_id": "rare"}, "all of them": {"target": "endpoint", "state": "failed", "owner_id": "big"},
	})
	m.lists("events.list", map[string]in{
		"all": {}, "times": m.times(), "type": {"types": []string{"user.seen"}}, "rare type": {"types": []string{"rare.type"}},
		"types": {"types": []string{"note.created", "user.left", "rare.type"}}, "no such type": {"types": []string{"none"}},
		"owner": {"owner_id": m.owner()}, "big owner": {"owner_id": "big"}, "rare owner": {"owner_id": "rare"}, "no such owner": {"owner_id": "none"},
		"subject": {"subject": fmt.Sprintf("thing/%d", m.n%20000)}, "rare subject": {"subject": "thing/rare"},
		"pending": {"status": "pending"}, "fanned": {"status": "fanned"}, "poisoned": {"status": "poisoned"},
		"owner and type": {"owner_id": m.owner(), "types": []string{"user.left"}}, "big owner and type": {"owner_id": "big", "types": []string{"rare.type"}},
		"owner and subject": {"owner_id": m.owner(), "subject": fmt.Sprintf("thing/%d", m.n%20000)},
		"owner and times":   m.with(m.times(), "owner_id", "big"), "type and times": m.with(m.times(), "types", []string{"user.left"}),
		"poisoned of a type": {"status": "poisoned", "types": []string{"user.left"}},
		"all of them":        m.with(m.with(m.with(m.times(), "owner_id", "big"), "types", []string{"user.left"}), "status", "poisoned"),
	})
}

func (m *maker) webhooks() {
	endpoint := id("endpoint", m.n%300)
	m.add("webhooks.get", "one", in{"id": endpoint})
	m.add("webhooks.public_keys", "one", in{"id": endpoint})
	m.add("webhooks.delivery", "one", in{"id": m.delivery})
	m.add("webhooks.attempts", "of one", in{"id": m.delivery})
	m.add("webhooks.event_types", "all", in{})
	m.add("webhooks.account", "ten minutes", m.times())
	m.add("webhooks.account", "ten minutes of an owner", m.with(m.times(), "owner_id", m.owner()))
	m.lists("webhooks.list", map[string]in{
		"all": {}, "owner": {"owner_id": "big"}, "enabled": {"enabled": true}, "disabled": {"enabled": false}, "failing": {"failing": true},
		"none": {"owner_id": "none", "failing": true},
	})
	filters := map[string]in{
		"all": {}, "times": m.times(), "since": {"since": m.times()["since"]}, "endpoint": {"endpoint_id": endpoint}, "no such endpoint": {"endpoint_id": id("none", 1)},
		"owner": {"owner_id": m.owner()}, "big owner": {"owner_id": "big"}, "rare owner": {"owner_id": "rare"}, "event": {"event_id": m.event},
		"type": {"event_type": "note.deleted"}, "no such type": {"event_type": "none"}, "subject": {"subject": fmt.Sprintf("thing/%d", m.n%20000)},
		"unacknowledged": {"unacknowledged": true}, "unacknowledged of": {"unacknowledged": true, "endpoint_id": endpoint},
		"endpoint and state": {"endpoint_id": endpoint, "states": []string{"skipped"}}, "owner and state": {"owner_id": "big", "states": []string{"discarded"}},
		"endpoint, type": {"endpoint_id": endpoint, "event_type": "none"}, "two states": {"states": []string{"discarded", "pending"}},
		"all of them": m.with(in{"endpoint_id": endpoint, "owner_id": "big", "event_type": "note.deleted", "states": []string{"discarded"}}, "since", m.times()["since"]),
	}
	for _, state := range []string{"pending", "delivered", "discarded", "skipped"} {
		filters[state] = in{"states": []string{state}}
	}
	m.lists("webhooks.deliveries", filters)
}

const findMail = `
select m.id::text, m.event_id::text, m.recipient from postbus.mails as m where m.id <= 20000000 - $1::bigint order by m.id desc limit 1`

func (m *maker) mail(ctx context.Context, pool *pgxpool.Pool) error {
	var mail, event, recipient string
	if err := pool.QueryRow(ctx, findMail, m.n).Scan(&mail, &event, &recipient); err != nil {
		return fmt.Errorf("seed: find a mail: %w", err)
	}
	rule := id("rule", m.n%300)
	m.add("mail.rule", "one", in{"id": rule})
	m.add("mail.mail", "one", in{"id": mail})
	m.lists("mail.rules", map[string]in{
		"all": {}, "owner": {"owner_id": "big"}, "enabled": {"enabled": true}, "disabled of": {"owner_id": "big", "enabled": false},
	})
	filters := map[string]in{
		"all": {}, "owner": {"owner_id": m.owner()}, "big owner": {"owner_id": "big"}, "rule": {"rule_id": rule}, "event": {"event_id": event},
		"recipient": {"recipient": recipient}, "nobody": {"recipient": "nobody@example.com"}, "owner and state": {"owner_id": "big", "states": []string{"failed"}},
		"rule and state": {"rule_id": rule, "states": []string{"failed"}}, "two states": {"states": []string{"failed", "sending"}},
		"all of them": {"owner_id": "big", "rule_id": rule, "recipient": recipient, "states": []string{"sent"}},
	}
	for _, state := range []string{"sending", "sent", "failed"} {
		filters[state] = in{"states": []string{state}}
	}
	m.lists("mail.mails", filters)
	return nil
}

func (m *maker) rest() {
	for _, operation := range []string{"alerts.list", "instances.list", "system.status", "alerts.history", "tokens.list", "accounts.list", "work.kinds", "work.workers"} {
		m.add(operation, "all", in{})
	}
	m.add("stats.series", "an hour", in{"series": "events.recorded", "since": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)})
	m.add("stats.series", "all", in{"series": "events.recorded"})
	m.lists("audit.list", map[string]in{
		"all": {}, "times": m.times(), "who": {"who": "token:ci"}, "rare who": {"who": "account:bob"}, "no such who": {"who": "none"},
		"operation": {"operation": "tasks.cancel"}, "no such operation": {"operation": "none"}, "owner": {"owner_id": "big"},
		"who and operation": {"who": "account:bob", "operation": "tasks.cancel"}, "owner and who": {"owner_id": "big", "who": "account:bob"},
		"owner and operation": {"owner_id": "big", "operation": "none"}, "owner and times": m.with(m.times(), "owner_id", "big"),
		"all of them": m.with(in{"owner_id": "big", "who": "account:bob", "operation": "tasks.cancel"}, "since", m.times()["since"]),
	})
}

func (m *maker) lists(operation string, filters map[string]in) {
	for name, filter := range filters {
		m.add(operation, name, filter)
	}
}

// times is a range of ten minutes.
func (m *maker) times() in {
	since := time.Now().Add(-time.Duration(m.n) * time.Second).UTC()
	return in{"since": since.Format(time.RFC3339), "until": since.Add(10 * time.Minute).Format(time.RFC3339)}
}

func (*maker) with(input in, field string, value any) in {
	input[field] = value
	return input
}

func (m *maker) owner() string { return fmt.Sprintf("owner-%d", m.n%2000) }

// id is what the rows call md5(…)::uuid.
func id(what string, n int) string {
	sum := md5.Sum(fmt.Appendf(nil, "%s %d", what, n))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
