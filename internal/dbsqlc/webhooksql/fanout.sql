-- The owner's endpoints, disabled ones too: what meets those is recorded as skipped. None where the event's type is internal
-- by now: the promise that such a type never leaves is looked at here once more.
-- name: EndpointsOfOwner :many
select
    id, owner_id, url, description, types, scope, headers_key, headers, max_in_flight, rate_per_second, ordered, version,
    enabled, disabled_reason, disabled_at, failing_since, cooldown_until, paced_until, created_at, updated_at
from postbus.webhook_endpoints
where
    owner_id = @owner_id
    and exists (select from postbus.event_types as t where t.name = @event_type and t.exposure = 'webhook')
order by id;

-- Holds endpoints while deliveries are made for them: neither a deletion nor a lane that closes passes in between.
-- Fan-outs do not hinder each other here.
-- name: HoldEndpoints :many
select id, ordered, enabled, disabled_reason, (failing_since is not null)::boolean as failing
from postbus.webhook_endpoints
where id = any(@ids::uuid[])
order by id
for key share;

-- Ordered endpoints take one fan-out at a time, so that the line of a subject is seen whole. It comes before HoldEndpoints:
-- a lock that grows stronger could close a circle with one who waits in between.
-- name: HoldOrderedEndpoints :many
select id
from postbus.webhook_endpoints
where id = any(@ids::uuid[]) and ordered
order by id
for no key update;

-- The promise "a fan-out that runs twice adds nothing" begins here: no row, nothing to do.
-- name: MarkFanout :execrows
insert into postbus.webhook_fanouts (event_id, owner_id, occurred_at, matched)
values (@event_id, @owner_id, @occurred_at, @matched)
on conflict (event_id) do nothing;

-- One delivery for each (endpoint, event), by constraint. Pending ones fall due in the order of their events; failing
-- endpoints' wait. In a line everybody begins behind. One that a replay made before its fan-out came counts as the fan-out's.
-- name: InsertDeliveries :many
insert into postbus.webhook_deliveries (
    endpoint_id, event_id, event_seq, event_type, owner_id, subject, occurred_at, origin, state, reason,
    next_attempt_at, line, behind, expires_at, settled_at
)
select
    d.endpoint_id, @event_id, @event_seq, @event_type, @owner_id, @subject, @occurred_at, @origin,
    case when d.reason = '' then 'pending' else 'skipped' end,
    nullif(d.reason, ''),
    case
        when d.reason <> '' then null
        when d.wait_seconds > 0 then clock_timestamp() + make_interval(secs => d.wait_seconds)
        else @occurred_at
    end,
    case when d.ordered then @subject::text end,
    d.ordered and d.reason = '',
    clock_timestamp() + make_interval(secs => @lifetime_seconds::float8),
    case when d.reason <> '' then clock_timestamp() end
from (
    select
        unnest(@endpoint_ids::uuid[]) as endpoint_id,
        unnest(@reasons::text[]) as reason,
        unnest(@waits_seconds::float8[]) as wait_seconds,
        unnest(@ordereds::boolean[]) as ordered
) as d
on conflict (endpoint_id, event_id) do update set origin = excluded.origin
where webhook_deliveries.origin = 'replay' and excluded.origin = 'fanout'
returning id, endpoint_id, state;

-- The first of each line stands in front and nobody else does. Whoever changes a line calls this while it holds the
-- endpoint's row.
-- name: LineUp :exec
with lines as (
    select distinct unnest(@endpoint_ids::uuid[]) as endpoint_id, unnest(@lines::text[]) as line
),
heads as (
    select l.endpoint_id, l.line, h.id, h.behind
    from lines as l
    cross join lateral (
        select d.id, d.behind
        from postbus.webhook_deliveries as d
        where d.endpoint_id = l.endpoint_id and d.line = l.line and d.state = 'pending'
        order by d.event_seq
        limit 1
    ) as h
),
pushed as (
    update postbus.webhook_deliveries as d set behind = true
    from heads as h
    where d.endpoint_id = h.endpoint_id and d.line = h.line and d.state = 'pending' and not d.behind and d.id <> h.id
)
update postbus.webhook_deliveries as d set behind = false
from heads as h
where d.id = h.id and h.behind;

-- The arrays make the planner plan anew each time, which costs more than the statements do.
-- name: PlanOnce :exec
select set_config('plan_cache_mode', 'force_generic_plan', true);

-- name: TypeExposed :one
select exists (
    select from postbus.event_types where name = @name and exposure = 'webhook'
) as exposed;
