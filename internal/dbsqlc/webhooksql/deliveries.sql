-- A page of deliveries, newest first; before_id is the keyset (0 on the first page).
-- name: ListDeliveries :many
select
    sqlc.embed(d),
    exists (select from postbus.webhook_slots as s where s.endpoint_id = d.endpoint_id and s.delivery_id = d.id) as in_flight
from postbus.webhook_deliveries as d
where
    (@before_id::bigint = 0 or d.id < @before_id)
    and (@from_id::bigint = 0 or d.id >= @from_id)
    and (sqlc.narg(endpoint_id)::uuid is null or d.endpoint_id = sqlc.narg(endpoint_id))
    and (sqlc.narg(event_id)::uuid is null or d.event_id = sqlc.narg(event_id))
    and (@owner_id::text = '' or d.owner_id = @owner_id)
    and (@event_type::text = '' or d.event_type = @event_type)
    and (@subject::text = '' or d.subject = @subject)
    and (cardinality(@states::text[]) = 0 or d.state = any(@states))
    and (sqlc.narg(since)::timestamptz is null or d.occurred_at >= sqlc.narg(since))
    and (sqlc.narg(until)::timestamptz is null or d.occurred_at < sqlc.narg(until))
    and (not @unacknowledged::boolean or (d.state = 'discarded' and d.acknowledged_at is null))
order by d.id desc
limit @page_size;

-- The id down to which a page of deliveries looks, @look of all, of an endpoint's or of an owner's; 0 for all there are.
-- name: LookAtDeliveries :one
select (case when count(*) = @look::int then min(l.id) else 0 end)::bigint as floor
from (
    select d.id
    from postbus.webhook_deliveries as d
    where
        (@before_id::bigint = 0 or d.id < @before_id)
        and (@from_id::bigint = 0 or d.id >= @from_id)
        and (sqlc.narg(endpoint_id)::uuid is null or d.endpoint_id = sqlc.narg(endpoint_id))
        and (@owner_id::text = '' or d.owner_id = @owner_id)
        and (not @unacknowledged::boolean or (d.state = 'discarded' and d.acknowledged_at is null))
    order by d.id desc
    limit @look::int
) as l;

-- LookAtDeliveries of all that are discarded or skipped.
-- name: LookAtFailed :one
select (case when count(*) = @look::int then min(l.id) else 0 end)::bigint as floor
from (
    select f.id
    from unnest(@states::text[]) as s (state)
    cross join lateral (
        select d.id
        from postbus.webhook_deliveries as d
        where
            d.state = s.state and d.state in ('discarded', 'skipped')
            and (@before_id::bigint = 0 or d.id < @before_id)
            and (@from_id::bigint = 0 or d.id >= @from_id)
        order by d.id desc
        limit @look::int
    ) as f
    order by f.id desc
    limit @look::int
) as l;

-- An id such that deliveries with smaller ones were made before the time given, by bisection: ids are drawn in the order of time,
-- but for statements that overlap. Callers allow for those.
-- name: FindDeliveryAt :one
with recursive span as (
    select coalesce(min(d.id), 1) as lo, coalesce(max(d.id), 0) + 1 as hi from postbus.webhook_deliveries as d
    union all
    select
        case when m.created_at < sqlc.arg(made_at)::timestamptz then m.id + 1 else span.lo end,
        case when m.created_at < sqlc.arg(made_at)::timestamptz then span.hi else (span.lo + span.hi) / 2 end
    from span
    cross join lateral (
        select
            coalesce(max(f.id), span.hi) as id,
            coalesce(max(f.created_at), 'infinity') as created_at
        from (
            select d.id, d.created_at
            from postbus.webhook_deliveries as d
            where d.id >= (span.lo + span.hi) / 2 and d.id < span.hi
            order by d.id
            limit 1
        ) as f
    ) as m
    where span.lo < span.hi
)
select min(span.hi)::bigint as id from span;

-- name: DeliveryByID :one
select
    sqlc.embed(d),
    exists (select from postbus.webhook_slots as s where s.endpoint_id = d.endpoint_id and s.delivery_id = d.id) as in_flight
from postbus.webhook_deliveries as d
where d.id = @id;

-- The endpoint's row is locked already; a slot cannot be given or taken meanwhile.
-- name: LockDelivery :one
select
    sqlc.embed(d),
    exists (select from postbus.webhook_slots as s where s.endpoint_id = d.endpoint_id and s.delivery_id = d.id) as in_flight
from postbus.webhook_deliveries as d
where d.id = @id
for update;

-- A page of attempts, newest first; before_n is the keyset (0 on the first page).
-- name: ListAttempts :many
select
    delivery_id, n, endpoint_id, attempted_at, url, spent, status, latency_ms, error, response_headers, response_body, truncated
from postbus.webhook_attempts
where delivery_id = @delivery_id and (@before_n::integer = 0 or n < @before_n)
order by n desc
limit @page_size;

-- Puts settled deliveries back to their first attempt. Where the endpoint is ordered they begin behind and must be lined up.
-- name: PutBack :many
update postbus.webhook_deliveries
set
    state = 'pending', reason = null, attempts = 0, next_attempt_at = clock_timestamp(), settled_at = null,
    acknowledged_at = null, expires_at = clock_timestamp() + make_interval(secs => @lifetime_seconds::float8),
    line = case when @ordered::boolean then subject end, behind = @ordered::boolean
where id = any(@ids::bigint[]) and state <> 'pending'
returning id, subject;

-- name: SendNow :exec
update postbus.webhook_deliveries set next_attempt_at = clock_timestamp()
where id = @id and state = 'pending' and next_attempt_at > clock_timestamp();

-- Discarded deliveries that nobody has taken note of and that can be sent: their event is there, and its type may leave.
-- The events are kept from retention until the transaction ends; those that retention holds are as good as gone.
-- name: DiscardedToPutBack :many
select d.id
from postbus.webhook_deliveries as d
join postbus.events as e on e.id = d.event_id
join postbus.event_types as t on t.name = d.event_type and (t.exposure = 'webhook' or d.origin = 'test')
where d.endpoint_id = @endpoint_id and d.state = 'discarded' and d.acknowledged_at is null
order by d.id
limit @most
for key share of e skip locked;

-- name: AcknowledgeDelivery :execrows
update postbus.webhook_deliveries set acknowledged_at = clock_timestamp()
where id = @id and state = 'discarded' and acknowledged_at is null;

-- name: AcknowledgeDeliveries :execrows
update postbus.webhook_deliveries set acknowledged_at = clock_timestamp()
where id in (
    select d.id from postbus.webhook_deliveries as d
    where d.endpoint_id = @endpoint_id and d.state = 'discarded' and d.acknowledged_at is null
    order by d.id
    limit @most
    for update skip locked
);

-- name: CancelDelivery :exec
update postbus.webhook_deliveries
set
    state = 'discarded', reason = 'cancelled by hand', next_attempt_at = null, behind = false,
    settled_at = clock_timestamp(), acknowledged_at = clock_timestamp()
where id = @id and state = 'pending';

-- name: InsertTest :one
insert into postbus.webhook_deliveries (
    endpoint_id, event_id, event_seq, event_type, owner_id, subject, occurred_at, origin, state, next_attempt_at, line, behind,
    expires_at
)
values (
    @endpoint_id, @event_id, @event_seq, @event_type, @owner_id, @subject, @occurred_at, 'test', 'pending', clock_timestamp(),
    case when @ordered::boolean then @subject::text end, @ordered::boolean,
    clock_timestamp() + make_interval(secs => @lifetime_seconds::float8)
)
returning id;

-- Discarded deliveries that nobody has taken note of, counted up to a cap.
-- name: CountUnacknowledged :one
select count(*) as deliveries
from (
    select from postbus.webhook_deliveries where state = 'discarded' and acknowledged_at is null limit @cap
) as d;

-- Their endpoints. It steps from endpoint to endpoint over the index.
-- name: UnacknowledgedEndpoints :many
with recursive steps as (
    (
        select d.endpoint_id, 1 as place
        from postbus.webhook_deliveries as d
        where d.state = 'discarded' and d.acknowledged_at is null
        order by d.endpoint_id
        limit 1
    )
    union all
    select n.endpoint_id, s.place + 1
    from steps as s
    cross join lateral (
        select d.endpoint_id
        from postbus.webhook_deliveries as d
        where d.state = 'discarded' and d.acknowledged_at is null and d.endpoint_id > s.endpoint_id
        order by d.endpoint_id
        limit 1
    ) as n
    where s.place < 20
)
select endpoint_id::uuid as endpoint_id from steps;

-- Deliveries of the endpoint that failed or were never tried, of the events. What somebody cancelled stays.
-- name: RecoverableOf :many
select id
from postbus.webhook_deliveries
where
    endpoint_id = @endpoint_id and event_id = any(@event_ids::uuid[]) and state in ('discarded', 'skipped')
    and reason is distinct from 'cancelled by hand'
order by id;

-- Events that the replay may hand to the endpoint: those that have no delivery there. Where the event's fan-out is still to come
-- it finds the delivery and counts it as its own.
-- name: UndeliveredAmong :many
select e.id
from postbus.events as e
where
    e.id = any(@event_ids::uuid[])
    and not exists (
        select from postbus.webhook_deliveries as d where d.endpoint_id = @endpoint_id and d.event_id = e.id
    );

-- name: DataOf :many
select id, data from postbus.events where id = any(@ids::uuid[]);

-- name: ExposedAmong :many
select name from postbus.event_types where name = any(@names::text[]) and exposure = 'webhook';

-- One delivery for each (endpoint, event), by constraint, however often a replay walks.
-- name: InsertReplayed :many
insert into postbus.webhook_deliveries (
    endpoint_id, event_id, event_seq, event_type, owner_id, subject, occurred_at, origin, state, next_attempt_at, line, behind,
    expires_at
)
select
    @endpoint_id::uuid, e.id, e.seq, e.type, e.owner_id, e.subject, e.occurred_at, 'replay', 'pending', clock_timestamp(),
    case when @ordered::boolean then e.subject end, @ordered::boolean,
    clock_timestamp() + make_interval(secs => @lifetime_seconds::float8)
from postbus.events as e
where e.id = any(@event_ids::uuid[])
order by e.seq
on conflict (endpoint_id, event_id) do nothing
returning id, subject;
