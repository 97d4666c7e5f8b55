-- An event a second; the newest 1,500 wait for a relay, one in a thousand is poisoned.
insert into postbus.events (
    id, seq, type, owner_id, subject, occurred_at, data, trace, fanned_out_at, fanout, attempts, last_error, next_attempt_at, poisoned_at
) overriding system value
select
    md5('event ' || r.i)::uuid,
    20000000 - r.i,
    r.type,
    r.owner,
    case when r.i = 91001 then 'thing/rare' else 'thing/' || r.h % 20000 end,
    r.at,
    json_build_object('n', r.i, 'note', md5(r.i::text), 'text', repeat(md5(r.i::text), 3)),
    '00-' || md5(r.i::text) || '-' || left(md5(r.i::text), 16) || '-01',
    case when not r.poisoned and r.i > 1500 then r.at + interval '20 milliseconds' end,
    case when not r.poisoned and r.i > 1500 then
        jsonb_build_object('note.index', (20000000 - r.i)::text)
        || case when r.type like 'note.%' then jsonb_build_object('webhook.fanout', (20000000 - r.i)::text) else '{}'::jsonb end
    end,
    case when r.poisoned then 10 else 0 end,
    case when r.poisoned then 'the declaration of note.index cannot be read' end,
    case when r.poisoned then r.at + interval '1 hour' end,
    case when r.poisoned then r.at + interval '1 hour' end
from (
    select
        s.i, s.h, s.now - s.i * interval '1 second' as at, s.h % 1000 = 5 as poisoned,
        case
            when s.i in (95001, 95002) then 'rare.type'
            when s.g < 50 then 'note.changed'
            when s.g < 70 then 'note.created'
            when s.g < 80 then 'note.deleted'
            when s.g < 92 then 'user.seen'
            when s.g < 99 then 'bill.charged'
            else 'user.left'
        end as type,
        case
            when s.i in (97001, 97002, 97003) then 'rare'
            when s.o < 15 then 'big'
            else 'owner-' || s.h % 2000
        end as owner
    from (
        select
            n.i, date_trunc('second', statement_timestamp()) as now,
            hashint8(n.i)::bigint & 2147483647 as h,
            (hashint8(n.i + 300000000)::bigint & 2147483647) % 100 as g,
            (hashint8(n.i + 400000000)::bigint & 2147483647) % 100 as o
        from generate_series($1::bigint + 1, $2::bigint) as n (i)
    ) as s
) as r;
