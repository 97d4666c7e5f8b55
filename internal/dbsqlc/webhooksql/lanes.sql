-- Opens lanes where fewer are open than the endpoint allows and it may send at all: at most wanted of them, on its lowest free
-- slots. Two that open the same slot at once meet at the primary key.
-- name: OpenSlots :many
with wants as (
    select unnest(@endpoint_ids::uuid[]) as endpoint_id, unnest(@wanted::integer[]) as wanted
),
free as (
    select
        e.id as endpoint_id, g.slot, w.wanted,
        row_number() over (partition by e.id order by g.slot) as place
    from wants as w
    join postbus.webhook_endpoints as e on e.id = w.endpoint_id
    cross join lateral generate_series(1, e.max_in_flight) as g (slot)
    where
        e.enabled
        and (e.cooldown_until is null or e.cooldown_until <= statement_timestamp())
        and not exists (
            select from postbus.webhook_slots as s where s.endpoint_id = e.id and s.slot = g.slot
        )
),
opened as (
    insert into postbus.webhook_slots (endpoint_id, slot)
    select f.endpoint_id, f.slot from free as f where f.place <= f.wanted
    order by f.endpoint_id, f.slot -- in one order, lest two of them wait for each other
    on conflict (endpoint_id, slot) do nothing
    returning endpoint_id, token
)
select o.endpoint_id, o.token, e.owner_id, (e.failing_since is not null)::boolean as failing
from opened as o
join postbus.webhook_endpoints as e on e.id = o.endpoint_id;

-- name: SetSlotJobs :exec
update postbus.webhook_slots as s set job_id = j.job_id
from (select unnest(@tokens::uuid[]) as token, unnest(@job_ids::text[]) as job_id) as j
where s.token = j.token;

-- Endpoints with a delivery that is due and a slot that is free. It steps from endpoint to endpoint over the index of due
-- deliveries, so that a deep backlog of one costs as much as a single row.
-- name: DueEndpoints :many
with recursive steps as (
    (
        select d.endpoint_id, d.next_attempt_at
        from postbus.webhook_deliveries as d
        where d.state = 'pending' and not d.behind
        order by d.endpoint_id, d.next_attempt_at
        limit 1
    )
    union all
    select n.endpoint_id, n.next_attempt_at
    from steps as s
    cross join lateral (
        select d.endpoint_id, d.next_attempt_at
        from postbus.webhook_deliveries as d
        where d.state = 'pending' and not d.behind and d.endpoint_id > s.endpoint_id
        order by d.endpoint_id, d.next_attempt_at
        limit 1
    ) as n
)
select s.endpoint_id::uuid as endpoint_id
from steps as s
join postbus.webhook_endpoints as e on e.id = s.endpoint_id
where
    s.next_attempt_at <= statement_timestamp()
    and e.enabled
    and (e.cooldown_until is null or e.cooldown_until <= statement_timestamp())
    and (e.paced_until is null or e.paced_until <= statement_timestamp() + interval '1 second')
    and (select count(*) from postbus.webhook_slots as w where w.endpoint_id = e.id) < e.max_in_flight;

-- How many deliveries of each endpoint are due, counted up to what it may have in flight.
-- name: CountDue :many
select w.endpoint_id::uuid as endpoint_id, c.due::integer as due
from (
    select e.id as endpoint_id, e.max_in_flight
    from postbus.webhook_endpoints as e
    where e.id = any(@endpoint_ids::uuid[])
    order by e.id
    for key share
) as w
cross join lateral (
    select count(*) as due
    from (
        select from postbus.webhook_deliveries as d
        where
            d.endpoint_id = w.endpoint_id and d.state = 'pending' and not d.behind
            and d.next_attempt_at <= statement_timestamp()
            and not exists (
                select from postbus.webhook_slots as s where s.endpoint_id = d.endpoint_id and d.id in (s.delivery_id, s.ahead_id)
            )
        limit w.max_in_flight
    ) as few
) as c
where c.due > 0;

-- Endpoints that are gone or disabled and still have deliveries that wait, from a fan-out that ran beside the act that disabled
-- them, or because they were too many for that act.
-- name: DeadEndpoints :many
with recursive steps as (
    (select d.endpoint_id from postbus.webhook_deliveries as d where d.state = 'pending' and not d.behind order by d.endpoint_id limit 1)
    union all
    select n.endpoint_id
    from steps as s
    cross join lateral (
        select d.endpoint_id from postbus.webhook_deliveries as d
        where d.state = 'pending' and not d.behind and d.endpoint_id > s.endpoint_id
        order by d.endpoint_id
        limit 1
    ) as n
)
select s.endpoint_id::uuid as endpoint_id
from steps as s
left join postbus.webhook_endpoints as e on e.id = s.endpoint_id
where e.id is null or not e.enabled;

-- Discards what waits at one of them, those in a line before its head, so that the endpoint is found again until all are done.
-- name: DiscardDead :execrows
update postbus.webhook_deliveries as d
set
    state = 'discarded', next_attempt_at = null, settled_at = clock_timestamp(),
    reason = coalesce(
        (select 'endpoint disabled: ' || coalesce(e.disabled_reason, 'by hand') from postbus.webhook_endpoints as e where e.id = d.endpoint_id),
        'endpoint deleted'
    ),
    acknowledged_at = case
        when not exists (select from postbus.webhook_endpoints as e where e.id = d.endpoint_id) then clock_timestamp()
    end
where
    d.id in (
        select p.id
        from postbus.webhook_deliveries as p
        where
            p.endpoint_id = @endpoint_id and p.state = 'pending'
            and not exists (select from postbus.webhook_slots as s where s.endpoint_id = p.endpoint_id and s.delivery_id = p.id)
        order by p.behind desc
        limit @most
        for update skip locked
    )
    and not exists (select from postbus.webhook_endpoints as e where e.id = @endpoint_id and e.enabled);

-- Slots that nobody has touched for a while and whose lease, if any, has run out. Their job may have ended otherwise.
-- name: StaleSlots :many
select token, coalesce(job_id, '')::text as job_id
from postbus.webhook_slots
where
    touched_at < clock_timestamp() - make_interval(secs => @idle_seconds::float8)
    and (lease_until is null or lease_until < clock_timestamp())
order by token
limit 1000;

-- name: DropSlots :execrows
delete from postbus.webhook_slots
where token = any(@tokens::uuid[]) and (lease_until is null or lease_until < clock_timestamp());
