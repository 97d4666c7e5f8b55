-- What a bus has few of, whatever its age.
insert into postbus.event_types (name, description, exposure)
select t.name, 'seeded', case when t.name like 'note.%' then 'webhook' else 'internal' end
from unnest(array['note.changed', 'note.created', 'note.deleted', 'user.seen', 'bill.charged', 'user.left', 'rare.type']) as t (name)
on conflict (name) do nothing;

insert into postbus.instances (id, app, version, host, kinds)
select 'instance-' || n.i, 'app', 'v1', 'host-' || n.i, array['note.index', 'mail.send', 'webhook.fanout', 'webhook.deliver']
from generate_series(0, 19) as n (i);

insert into postbus.periodics (app, name, schedule)
select 'app', 'tidy-' || n.i, 'every 1m0s' from generate_series(1, 10) as n (i);

insert into postbus.periodic_runs (app, name, slot, began_at, ended_at, result)
select 'app', 'tidy-' || n.i, s.at, s.at, s.at, 'ok'
from generate_series(1, 10) as n (i)
cross join lateral (select date_trunc('minute', statement_timestamp()) - m.i * interval '1 minute' as at from generate_series(1, 1000) as m (i)) as s;

insert into postbus.webhook_endpoints (id, owner_id, url, types, failing_since, enabled, disabled_reason, disabled_at)
select
    md5('endpoint ' || n.i)::uuid, case when n.i % 5 = 0 then 'big' else 'owner-' || n.i end, 'https://example.com/hooks/' || n.i,
    array['note.*'], case when n.i % 20 = 1 then statement_timestamp() - interval '2 hours' end, n.i % 30 <> 7,
    case when n.i % 30 = 7 then 'the receiver answered 410 Gone' end, case when n.i % 30 = 7 then statement_timestamp() end
from generate_series(0, 299) as n (i);

insert into postbus.webhook_secrets (endpoint_id, algorithm, key_id, sealed)
select md5('endpoint ' || n.i)::uuid, 'v1', 'k1', '\x00' from generate_series(0, 299) as n (i);

insert into postbus.replays (id, target, name, owner_id, until, state, created_at, finished_at)
select
    md5('replay ' || n.i)::uuid, case when n.i % 3 = 0 then 'endpoint' else 'subscription' end, 'note.index',
    case when n.i % 10 = 0 then 'big' else '' end, statement_timestamp(), case when n.i < 5 then 'running' else 'done' end,
    statement_timestamp() - n.i * interval '1 minute', case when n.i >= 5 then statement_timestamp() end
from generate_series(0, 999) as n (i);

insert into postbus.tokens (prefix, hash, name, scopes, created_by)
select 'pb_' || n.i, decode(md5('token ' || n.i), 'hex'), 'token ' || n.i, array['read'], 'account:ann' from generate_series(1, 300) as n (i);

insert into postbus.accounts (name, password, scopes)
select 'account' || n.i, 'none', array['read'] from generate_series(1, 100) as n (i);

insert into postbus.stats (
    series, label, minute, n, sum_ms, b00, b01, b02, b03, b04, b05, b06, b07, b08, b09, b10, b11, b12, b13, b14, b15, b16
)
select 'events.recorded', '', date_trunc('minute', statement_timestamp()) - n.i * interval '1 minute', 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
from generate_series(1, 43200) as n (i);

insert into postbus.alerts (owner_id, name, count, message, way_out, raised_at, cleared_at)
select 'postbus', 'jobs_discarded', 1, '1 jobs failed for good', 'Read them.', a.at, a.at + interval '1 minute'
from generate_series(1, 1000) as n (i)
cross join lateral (select statement_timestamp() - n.i * interval '1 hour' as at) as a;

insert into postbus.bulk_acts (id, act, filter, owner_id, who, state, created_at)
select
    md5('bulk ' || n.i)::uuid, 'retry', '{}', case when n.i % 10 = 0 then 'big' else '' end, 'account:ann', 'done',
    statement_timestamp() - n.i * interval '1 hour'
from generate_series(0, 999) as n (i);

select setval(pg_get_serial_sequence('postbus.events', 'seq'), 20000000);
select setval(pg_get_serial_sequence('postbus.webhook_deliveries', 'id'), 20000000);
select setval(pg_get_serial_sequence('postbus.audit', 'id'), 20000000);
select setval('postbus.river_job_id_seq', 20000000);

insert into postbus.mail_rules (id, name, owner_id, types, recipients, subject, text_body, enabled)
select
    md5('rule ' || n.i)::uuid, 'rule ' || n.i, case when n.i % 5 = 0 then 'big' else 'owner-' || n.i end, array['note.*'],
    array['data.email'], 'Note {{.Subject}}', 'It has changed', n.i % 30 <> 7
from generate_series(0, 299) as n (i);
