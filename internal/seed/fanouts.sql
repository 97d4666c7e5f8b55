-- The fan-outs of exposed events: one endpoint each.
insert into postbus.webhook_fanouts (event_id, owner_id, occurred_at, matched, fanned_out_at)
select e.id, e.owner_id, e.occurred_at, 1, e.fanned_out_at
from postbus.events as e
where e.seq >= 20000000 - $2::bigint and e.seq < 20000000 - $1::bigint and e.fanout ? 'webhook.fanout';
