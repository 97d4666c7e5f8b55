-- Creations of one owner go one after the other, so that two of them cannot both be the last one allowed.
-- name: LockOwner :exec
select pg_advisory_xact_lock(hashtextextended('postbus webhook endpoints of ' || @owner_id::text, 0));

-- name: CountEndpoints :one
select count(*) from postbus.webhook_endpoints where owner_id = @owner_id;

-- name: InsertEndpoint :one
insert into postbus.webhook_endpoints (
    id, owner_id, url, description, types, scope, headers_key, headers, max_in_flight, rate_per_second, ordered
)
values (
    @id, @owner_id, @url, @description, @types, @scope, sqlc.narg(headers_key), sqlc.narg(headers), @max_in_flight,
    nullif(@rate_per_second::integer, 0), @ordered
)
returning
    id, owner_id, url, description, types, scope, headers_key, headers, max_in_flight, rate_per_second, ordered, version,
    enabled, disabled_reason, disabled_at, failing_since, cooldown_until, paced_until, created_at, updated_at;

-- name: EndpointByID :one
select
    id, owner_id, url, description, types, scope, headers_key, headers, max_in_flight, rate_per_second, ordered, version,
    enabled, disabled_reason, disabled_at, failing_since, cooldown_until, paced_until, created_at, updated_at
from postbus.webhook_endpoints
where id = @id;

-- Every act on an endpoint begins with its row: lanes wait, so that what is in flight and what waits stands still meanwhile.
-- name: LockEndpoint :one
select
    id, owner_id, url, description, types, scope, headers_key, headers, max_in_flight, rate_per_second, ordered, version,
    enabled, disabled_reason, disabled_at, failing_since, cooldown_until, paced_until, created_at, updated_at
from postbus.webhook_endpoints
where id = @id
for no key update;

-- Acts that fan-outs must not pass by: they wait, too.
-- name: LockEndpointAlone :one
select
    id, owner_id, url, description, types, scope, headers_key, headers, max_in_flight, rate_per_second, ordered, version,
    enabled, disabled_reason, disabled_at, failing_since, cooldown_until, paced_until, created_at, updated_at
from postbus.webhook_endpoints
where id = @id
for update;

-- A page of endpoints by id; after is the keyset (null on the first page).
-- name: ListEndpoints :many
select
    id, owner_id, url, description, types, scope, headers_key, headers, max_in_flight, rate_per_second, ordered, version,
    enabled, disabled_reason, disabled_at, failing_since, cooldown_until, paced_until, created_at, updated_at
from postbus.webhook_endpoints
where
    (sqlc.narg(after)::uuid is null or id > sqlc.narg(after))
    and (@owner_id::text = '' or owner_id = @owner_id)
    and (sqlc.narg(only_enabled)::boolean is null or enabled = sqlc.narg(only_enabled))
    and (sqlc.narg(only_failing)::boolean is null or (failing_since is not null) = sqlc.narg(only_failing))
order by id
limit @page_size;

-- name: UpdateEndpoint :one
update postbus.webhook_endpoints
set
    url = @url, description = @description, types = @types, scope = @scope,
    headers_key = sqlc.narg(headers_key), headers = sqlc.narg(headers),
    max_in_flight = @max_in_flight, rate_per_second = nullif(@rate_per_second::integer, 0), ordered = @ordered,
    version = version + @changes::bigint, updated_at = clock_timestamp()
where id = @id
returning
    id, owner_id, url, description, types, scope, headers_key, headers, max_in_flight, rate_per_second, ordered, version,
    enabled, disabled_reason, disabled_at, failing_since, cooldown_until, paced_until, created_at, updated_at;

-- What was held against the endpoint is forgotten.
-- name: EnableEndpoint :exec
update postbus.webhook_endpoints
set
    enabled = true, disabled_reason = null, disabled_at = null, failing_since = null, cooldown_until = null,
    updated_at = clock_timestamp()
where id = @id;

-- name: DisableByHand :exec
update postbus.webhook_endpoints
set enabled = false, disabled_reason = @reason::text, disabled_at = clock_timestamp(), updated_at = clock_timestamp()
where id = @id and enabled;

-- What waits at an endpoint that is disabled or deleted by hand. What is in flight ends by itself.
-- name: DiscardWaiting :execrows
update postbus.webhook_deliveries as d
set
    state = 'discarded', reason = @reason::text, next_attempt_at = null, behind = false, settled_at = clock_timestamp(),
    acknowledged_at = case when @acknowledged::boolean then clock_timestamp() end
where
    d.endpoint_id = @endpoint_id and d.state = 'pending'
    and not exists (select from postbus.webhook_slots as s where s.endpoint_id = d.endpoint_id and s.delivery_id = d.id);

-- name: DeleteEndpoint :exec
delete from postbus.webhook_endpoints where id = @id;

-- Slots in which nothing is under way.
-- name: DropIdleSlots :exec
delete from postbus.webhook_slots where endpoint_id = @endpoint_id and delivery_id is null;

-- Slots beyond a lowered bound. Where a request is under way the slot stays until that has ended: the bound of before held
-- when it began.
-- name: DropSlotsAbove :exec
delete from postbus.webhook_slots
where
    endpoint_id = @endpoint_id and slot > @max_in_flight
    and (delivery_id is null or lease_until is null or lease_until < clock_timestamp());

-- From now on the pending deliveries of a subject form a line. Those in flight began outside of it and end so.
-- name: FormLines :exec
with places as (
    select d.id, row_number() over (partition by d.subject order by d.event_seq) as place
    from postbus.webhook_deliveries as d
    where
        d.endpoint_id = @endpoint_id and d.state = 'pending'
        and not exists (select from postbus.webhook_slots as s where s.endpoint_id = d.endpoint_id and s.delivery_id = d.id)
)
update postbus.webhook_deliveries as d
set line = d.subject, behind = p.place > 1
from places as p
where d.id = p.id;

-- From now on nobody waits for anybody.
-- name: DissolveLines :exec
update postbus.webhook_deliveries
set line = null, behind = false
where endpoint_id = @endpoint_id and state = 'pending' and line is not null;

-- Which of the names are types that must not leave.
-- name: InternalAmong :many
select name from postbus.event_types where name = any(@names::text[]) and exposure <> 'webhook' order by name;

-- What cannot be sent because nobody allows it, by the system and not by a person.
-- name: DisabledEndpoints :many
select id, count(*) over () as total
from postbus.webhook_endpoints
where not enabled and coalesce(disabled_reason, '') not like 'disabled by hand%'
order by disabled_at desc, id
limit 20;

-- name: FailingEndpoints :many
select id, count(*) over () as total
from postbus.webhook_endpoints
where enabled and failing_since < clock_timestamp() - make_interval(secs => @for_seconds::float8)
order by failing_since, id
limit 20;
