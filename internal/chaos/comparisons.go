package chaos

// What a count that is not zero would mean.
const (
	isLost    = "lost"
	isDoubled = "double fan-out"
	isPhantom = "phantom"
	isOff     = "accounting"
)

// Finding is one comparison: what is counted must be nothing.
type Finding struct {
	Class    string   `json:"class"`
	What     string   `json:"what"`
	Count    int      `json:"count"`
	Examples []string `json:"examples,omitempty"`
}

// comparison is a query that answers one text for everything that should not be.
type comparison struct{ class, what, sql string }

// subscribersSQL are all who have to get each event: the names of their subscriptions and of their kinds of jobs.
const subscribersSQL = `(values ('ledger'), ('wide'), ('flaky'), ('labels'), ('webhook.fanout')) as s (name)`

var comparisons = []comparison{
	{isLost, "rows that the writer was told are committed and that are not there",
		`select id::text from app.journal where outcome = 'committed' except select id::text from app.business`},
	{isLost, "business rows without an event",
		`select id::text from app.business as b where not exists (select from app.outbox as e where e.subject = b.id::text)`},
	{isLost, "events that nobody fanned out, or that were poisoned",
		`select id::text from app.outbox where fanned_out_at is null or poisoned_at is not null`},
	{isLost, "events that got no job for a subscriber",
		`select e.id || ' ' || s.name from app.outbox as e cross join ` + subscribersSQL + ` where not coalesce(e.fanout, '{}') ? s.name`},
	{isLost, "events that a subscriber did not handle",
		`select e.id || ' ' || s.name from app.outbox as e cross join ` + subscribersSQL + `
		where s.name in ('ledger', 'wide', 'flaky') and not exists (
			select from app.handled as h where h.event_id = e.id and h.subscriber = s.name)`},
	{isLost, "events that the worker outside wrote no label for",
		`select e.id::text from app.outbox as e where not exists (select from app.labels as l where l.event_id = e.id)`},
	{isLost, "labels that the worker's log has and the table has not",
		`select event_id::text from app.worker_log except select event_id::text from app.labels`},
	{isLost, "webhooks that the receiver never took",
		`select e.id || ' ' || p.name from app.outbox as e cross join (values ('any'), ('ordered')) as p (name)
		where not exists (select from app.sunk as k where k.event_id = e.id::text and k.endpoint = p.name and k.status = 200 and k.fault = '')`},

	{isDoubled, "(event, subscriber) with more than one job",
		`select args ->> 'event_id' || ' ' || kind || ' ' || count(*) from postbus.river_job
		where kind in ('ledger', 'wide', 'flaky', 'labels', 'webhook.fanout') and args ? 'event_id'
		group by args ->> 'event_id', kind having count(*) > 1`},
	{isDoubled, "jobs of an event that its fan-out does not name",
		`select j.id || ' ' || j.kind from postbus.river_job as j left join app.outbox as e on e.id::text = j.args ->> 'event_id'
		where j.kind in ('ledger', 'wide', 'flaky', 'labels', 'webhook.fanout') and j.args ? 'event_id'
			and e.fanout ->> j.kind is distinct from j.id::text`},
	{isDoubled, "business rows with more than one event",
		`select subject from app.outbox group by subject having count(*) > 1`},
	{isDoubled, "events with more than one label, which is written with the completion",
		`select event_id::text from app.labels group by event_id having count(*) > 1`},

	{isPhantom, "rows that the writer was told are rolled back and that are there",
		`select id || ' ' || b.via || ', told ' || j.why from app.journal as j join app.business as b using (id) where j.outcome = 'rolled back'`},
	{isPhantom, "events without a business row",
		`select id::text from app.outbox as e where not exists (select from app.business as b where b.id::text = e.subject)`},
	{isPhantom, "handled events that there are not, or under another subject",
		`select event_id || ' ' || subscriber from app.handled as h
		where not exists (select from app.outbox as e where e.id = h.event_id and e.subject = h.subject)`},
	{isPhantom, "labels of events that there are not",
		`select event_id::text from app.labels as l where not exists (select from app.outbox as e where e.id = l.event_id)`},
	{isPhantom, "webhooks about events that there are not, or under another subject",
		`select event_id from app.sunk as k where fault = '' and not exists (
			select from app.outbox as e where e.id::text = k.event_id and e.subject = k.subject)`},
	{isPhantom, "deliveries on record as taken that the receiver did not take",
		`select d.event_id || ' ' || p.description from postbus.webhook_deliveries as d
		join postbus.webhook_endpoints as p on p.id = d.endpoint_id
		where d.state = 'delivered' and not exists (
			select from app.sunk as k where k.event_id = d.event_id::text and k.endpoint = p.description and k.status = 200)`},

	{isOff, "jobs that are not completed",
		`select id || ' ' || kind || ' ' || state from postbus.river_job
		where kind in ('ledger', 'wide', 'flaky', 'labels', 'webhook.fanout') and state <> 'completed'`},
	{isOff, "deliveries that are not delivered",
		`select event_id || ' ' || state || ' ' || coalesce(reason, '') from postbus.webhook_deliveries where state <> 'delivered'`},
	{isOff, "delivered deliveries without a successful attempt on record",
		`select d.event_id || ' ' || d.endpoint_id from postbus.webhook_deliveries as d where d.state = 'delivered' and not exists (
			select from postbus.webhook_attempts as a where a.delivery_id = d.id and a.status = 200)`},
	{isOff, "jobs of ledger more or fewer than events",
		`select 'jobs ' || j.n || ', events ' || e.n from (select count(*) as n from postbus.river_job where kind = 'ledger') as j,
		(select count(*) as n from app.outbox) as e where j.n <> e.n`},
	{isOff, "runs of ledger that no attempt of its job accounts for",
		`select h.event_id::text || ' ran ' || h.times || ', attempts ' || j.attempt from app.handled as h
		join postbus.river_job as j on j.kind = h.subscriber and j.args ->> 'event_id' = h.event_id::text
		where h.subscriber = 'ledger' and h.times > j.attempt`},
	{isOff, "runs that are not in the sum of a handled event",
		`select h.event_id || ' ' || h.subscriber from app.handled as h
		join (select event_id, subscriber, count(*) as n from app.runs group by 1, 2) as r using (event_id, subscriber) where r.n <> h.times`},
}
