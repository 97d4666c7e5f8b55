-- name: EventStamp :one
-- Changes when events are recorded, fanned out, poisoned or requeued.
select concat_ws(' ',
    (select max(e.seq) from postbus.events as e),
    (
        select count(*) || ':' || coalesce(sum(m.seq), 0)
        from (
            select e.seq from postbus.events as e
            where e.fanned_out_at is null and e.poisoned_at is null
            order by e.seq
            limit 200
        ) as m
    ),
    (select count(*) from (select from postbus.events as e where e.poisoned_at is not null limit 200) as p)
)::text as stamp;

-- name: WebhookStamp :one
-- Changes when deliveries are made, sent, tried, settled or acknowledged, and when endpoints change.
select concat_ws(' ',
    (select max(d.id) from postbus.webhook_deliveries as d),
    (
        select md5(string_agg(concat_ws(' ', p.id, p.next_attempt_at), ',' order by p.id))
        from (
            select d.id, d.next_attempt_at from postbus.webhook_deliveries as d
            where d.state = 'pending' and not d.behind
            limit 200
        ) as p
    ),
    (
        select count(*) || ':' || coalesce(sum(u.id), 0)
        from (
            select d.id from postbus.webhook_deliveries as d
            where d.state = 'discarded' and d.acknowledged_at is null
            limit 200
        ) as u
    ),
    (
        select md5(string_agg(concat_ws(' ', t.delivery_id, t.touched_at), ','))
        from (select s.delivery_id, s.touched_at from postbus.webhook_slots as s order by s.endpoint_id, s.slot limit 200) as t
    ),
    (
        select md5(string_agg(concat_ws(' ', e.id, e.updated_at), ','))
        from (select w.id, w.updated_at from postbus.webhook_endpoints as w order by w.id limit 200) as e
    )
)::text as stamp;

-- name: ActStamp :one
-- Changes when a bulk act or a replay is asked for, gets on, fails, goes on or ends.
select concat_ws(' ',
    (
        select md5(string_agg(concat_ws(' ', b.id, b.state, b.updated_at), ','))
        from (
            select a.id, a.state, a.updated_at from postbus.bulk_acts as a
            order by a.created_at desc, a.id desc
            limit 200
        ) as b
    ),
    (
        select md5(string_agg(concat_ws(' ', p.id, p.state, p.updated_at), ','))
        from (
            select r.id, r.state, r.updated_at from postbus.replays as r
            order by r.created_at desc, r.id desc
            limit 200
        ) as p
    )
)::text as stamp;
