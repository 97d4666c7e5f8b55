-- A delivery for each of them: one in twenty was given up (more than half of these are acknowledged), the newest 2,000 wait.
insert into postbus.webhook_deliveries (
    id, endpoint_id, event_id, event_seq, event_type, owner_id, subject, occurred_at, state, reason, attempts, tries,
    next_attempt_at, created_at, expires_at, settled_at, acknowledged_at
) overriding system value
select
    r.seq, md5('endpoint ' || r.h % 300)::uuid, r.id, r.seq, r.type, r.owner_id, r.subject, r.occurred_at, r.state,
    case r.state
        when 'discarded' then 'all 18 attempts failed; the last: 500 Internal Server Error'
        when 'skipped' then 'endpoint disabled'
    end,
    case r.state when 'discarded' then 18 when 'delivered' then 1 else 0 end,
    case r.state when 'discarded' then 3 when 'delivered' then 1 else 0 end,
    case when r.state = 'pending' then r.occurred_at + interval '1 hour' end,
    r.occurred_at, r.occurred_at + interval '3 days',
    case when r.state <> 'pending' then r.occurred_at + interval '1 second' end,
    case when r.state = 'discarded' and r.h % 5 < 3 then r.occurred_at + interval '1 day' end
from (
    select
        e.id, e.seq, e.type, e.owner_id, e.subject, e.occurred_at, (hashint8(e.seq)::bigint & 2147483647) as h,
        case
            when 20000000 - e.seq <= 4000 then 'pending'
            when (hashint8(e.seq + 7)::bigint & 2147483647) % 100 < 5 then 'discarded'
            when (hashint8(e.seq + 7)::bigint & 2147483647) % 100 < 8 then 'skipped'
            else 'delivered'
        end as state
    from postbus.events as e
    where e.seq >= 20000000 - $2::bigint and e.seq < 20000000 - $1::bigint and e.fanout ? 'webhook.fanout'
) as r;
