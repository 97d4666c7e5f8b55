-- A mail for one in ten of them: one in a hundred has failed, the newest hundred wait.
insert into postbus.mails (
    id, rule_id, rule_name, event_id, event_type, owner_id, recipient, message_id, state, reason, attempts, created_at, settled_at
) overriding system value
select
    r.seq, md5('rule ' || r.h % 300)::uuid, 'rule ' || r.h % 300, r.id, r.type, r.owner_id, 'p' || r.h % 5000 || '@example.com',
    r.id || '@example.com', r.state, case r.state when 'failed' then '550 no such user' end, 1, r.occurred_at,
    case when r.state <> 'sending' then r.occurred_at + interval '1 second' end
from (
    select
        e.id, e.seq, e.type, e.owner_id, e.occurred_at, (hashint8(e.seq)::bigint & 2147483647) as h,
        case
            when 20000000 - e.seq <= 1000 then 'sending'
            when (hashint8(e.seq + 9)::bigint & 2147483647) % 100 < 1 then 'failed'
            else 'sent'
        end as state
    from postbus.events as e
    where e.seq >= 20000000 - $2::bigint and e.seq < 20000000 - $1::bigint and e.seq % 10 = 0
) as r;
