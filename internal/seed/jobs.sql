-- A job a second. Most are done, a tenth failed for good (a third of these are acknowledged), the newest 20,000 are half open.
insert into postbus.river_job (
    id, state, attempt, max_attempts, attempted_at, created_at, finalized_at, scheduled_at, args, attempted_by, errors, kind,
    metadata, queue
)
select
    20000000 - r.i,
    r.state::postbus.river_job_state,
    case when r.state in ('available', 'scheduled') then 0 else 1 end,
    case when r.state = 'discarded' then 1 else 5 end,
    case when r.state not in ('available', 'scheduled') then r.at + interval '50 milliseconds' end,
    r.at,
    case when r.state in ('completed', 'discarded', 'cancelled') then r.at + interval '80 milliseconds' end,
    case when r.state in ('scheduled', 'retryable') then r.now + interval '1 hour' else r.at end,
    jsonb_build_object('n', r.i, 'shard', r.h % 1000, 'shape', 'note', 'note', md5(r.i::text)),
    case when r.state not in ('available', 'scheduled') then array['instance-' || r.h % 20] end,
    case
        when r.state in ('discarded', 'retryable')
        then array[jsonb_build_object('at', r.at, 'attempt', 1, 'error', 'the receiver answered 500 to ' || md5(r.i::text), 'trace', '')]
    end,
    r.kind,
    case when r.owner = '' then '{}'::jsonb else jsonb_build_object('owner', r.owner) end
        || case when r.state = 'discarded' and r.h % 3 = 0 then jsonb_build_object('acknowledged_at', r.at) else '{}'::jsonb end,
    case
        when r.kind = 'webhook.deliver' and r.h % 50 = 0 then 'webhooks_failing'
        when r.kind like 'webhook.%' then 'webhooks'
        when r.kind like 'mail.%' then 'mail'
        when r.kind like 'report.%' then 'slow'
        when r.i in (90001, 90002, 90003) then 'rare'
        else 'default'
    end
from (
    select
        s.i, s.now, s.h,
        s.now - s.i * interval '1 second' as at,
        case
            when s.i <= 30 then 'running'
            when s.i <= 20000 and s.h % 20 < 8 then 'available'
            when s.i <= 20000 and s.h % 20 = 8 then 'scheduled'
            when s.i <= 20000 and s.h % 20 = 9 or s.h % 2000 = 11 then 'retryable'
            when s.h % 10 = 3 then 'discarded'
            when s.h % 50 = 7 then 'cancelled'
            else 'completed'
        end as state,
        case
            when s.i in (95001, 95002) then 'rare.kind'
            when s.g < 40 then 'webhook.deliver'
            when s.g < 60 then 'webhook.fanout'
            when s.g < 75 then 'mail.send'
            when s.g < 85 then 'note.index'
            when s.g < 90 then 'note.thumbnail'
            when s.g < 94 then 'import.rows'
            when s.g < 96 then 'bill.charge'
            when s.g < 98 then 'report.build'
            when s.g < 99 then 'crm.sync'
            else 'periodic.tidy'
        end as kind,
        case
            when s.i in (97001, 97002, 97003) then 'rare'
            when s.o < 30 then ''
            when s.o < 45 then 'big'
            else 'owner-' || s.h % 2000
        end as owner
    from (
        select
            n.i, date_trunc('second', statement_timestamp()) as now,
            hashint8(n.i)::bigint & 2147483647 as h,
            (hashint8(n.i + 100000000)::bigint & 2147483647) % 100 as g,
            (hashint8(n.i + 200000000)::bigint & 2147483647) % 100 as o
        from generate_series($1::bigint + 1, $2::bigint) as n (i)
    ) as s
) as r;
