package main

const (
	insertNoteSQL  = `insert into bench.notes (owner_id, title) values ($1, $2)`
	insertPlainSQL = `insert into bench.plain (type, owner_id, subject, data) values ($1, $2, $3, $4)`

	// onDutySQL is what a busy relay holds: see the trigger postbus.wake_relay.
	onDutySQL = `select pg_advisory_lock(5287002951004850)`

	// fillSQL records a backlog in one statement; nobody is woken for it.
	fillSQL = `
insert into postbus.events (type, owner_id, subject, data)
select $2, 'owner', 'note-' || i, json_build_object('note', i, 'title', 'Note ' || i, 'body', $3::text)
from generate_series(1, $1) as i`
	// fillPeerSQL records events with the data of internal/peer, of a size.
	fillPeerSQL = `
insert into postbus.events (type, owner_id, subject, data)
select $2, 'owner', i::text, (h.head || repeat('x', greatest(0, $3::int - length(h.head) - 2)) || '"}')::json
from generate_series(0, $1::int - 1) as i, lateral (select '{"n":' || i || ',"pad":"' as head) as h`
	lastSeqSQL  = `select max(seq) from postbus.events`
	isFannedSQL = `select fanned_out_at is not null from postbus.events where seq = $1`
	unfannedSQL = `select count(*) from postbus.events where fanned_out_at is null and poisoned_at is null`
	jobsSQL     = `select count(*) from postbus.river_job where kind like $1`

	// busBehindSQL and riverBehindSQL ask whether anything is left to do, jobs that the clock makes left out.
	busBehindSQL = `
select exists (select from postbus.events where fanned_out_at is null and poisoned_at is null)
or exists (select from postbus.river_job where state <> 'completed' and kind = $1)`
	riverBehindSQL = `select exists (select from riverdirect.river_job where state <> 'completed' and kind = $1)`

	pinSQL = `begin isolation level repeatable read`
	// snapshotSQL takes the transaction's snapshot, which pins xmin until it ends.
	snapshotSQL = `select count(*) from bench.notes`

	recordManySQL = `
select count(postbus.record('owner', $2, 'note-' || i, json_build_object('note', i, 'title', 'Note ' || i, 'body', $3::text)))
from generate_series(1, $1) as i`
	plainManySQL = `
insert into bench.plain (type, owner_id, subject, data)
select $2, 'owner', 'note-' || i, json_build_object('note', i, 'title', 'Note ' || i, 'body', $3::text)
from generate_series(1, $1) as i`

	// silenceHooksSQL is what an answer of 429 with Retry-After does to an endpoint.
	silenceHooksSQL = `update postbus.webhook_endpoints set cooldown_until = clock_timestamp() + interval '1 hour'`
	releaseHooksSQL = `update postbus.webhook_endpoints set cooldown_until = null`
	// hooksFannedSQL answers the fan-outs and how many there were a second.
	hooksFannedSQL = `
select count(*), coalesce(count(*) / nullif(extract(epoch from max(fanned_out_at) - min(fanned_out_at)), 0), 0)::float8
from postbus.webhook_fanouts`
	eventIDsSQL       = `select coalesce(array_agg(id::text), '{}') from postbus.events where type = $1`
	hooksDeliveredSQL = `
select (select count(*) from postbus.events where type = $2) * cardinality($1::text[]) = count(*)
from postbus.webhook_deliveries as d
join postbus.webhook_endpoints as e on e.id = d.endpoint_id
where e.url = any($1::text[]) and d.state = 'delivered'`
	hooksSizesSQL = `
select json_object_agg(name, pg_total_relation_size('postbus.' || name))
from unnest(array['webhook_deliveries', 'webhook_attempts', 'webhook_fanouts', 'webhook_slots', 'river_job']) as name`

	declareClaimedSQL = `select postbus.declare_kind('bench.claim')`
	finishedSQL       = `
insert into postbus.river_job (state, kind, queue, args, max_attempts, attempt, attempted_at, attempted_by, scheduled_at, finalized_at, metadata)
select 'completed', 'bench.claim', 'work|bench|claim', jsonb_build_object('done', i), 8, 1, now() - interval '1 hour', array['worker'],
    now() - interval '1 hour', now() - i * interval '1 millisecond', '{"owner": "owner"}'
from generate_series(1, $1::int) as i`
	// clearClaimableSQL removes what a window left and what it finished.
	clearClaimableSQL = `delete from postbus.river_job where args ? 'open'`
	claimableSQL      = `
insert into postbus.river_job (state, kind, queue, args, max_attempts, scheduled_at, metadata)
select 'available', 'bench.claim', 'work|bench|claim', jsonb_build_object('open', i), 8, now(), '{"owner": "owner"}'
from generate_series(1, $1::int) as i`
	claimOneSQL    = `select (select id from postbus.claim_work(array['bench.claim'], $1, 1, '1 minute'))`
	completeOneSQL = `select postbus.complete_work($1, '{"pages": 3}')`
)
