-- A lane's turn: one transaction that records the results of some deliveries and takes the next ones. It holds the rows of the
-- endpoints from beginning to end, so that of all processes one at a time hands out an endpoint's deliveries.
-- name: LockEndpoints :many
select
    id, owner_id, version, enabled, disabled_reason, ordered, max_in_flight, failing_since,
    coalesce(cooldown_until > statement_timestamp(), false)::boolean as cooling,
    coalesce(rate_per_second, 0)::integer as rate_per_second,
    greatest(extract(epoch from paced_until - statement_timestamp()), 0)::float8 as paced_seconds,
    coalesce(extract(epoch from statement_timestamp() - failing_since), 0)::float8 as failing_seconds
from postbus.webhook_endpoints
where id = any(@ids::uuid[])
order by id
for no key update;

-- name: LockSlots :many
select
    token, endpoint_id, slot, coalesce(delivery_id, 0)::bigint as delivery_id, coalesce(ahead_id, 0)::bigint as ahead_id, lease,
    coalesce(extract(epoch from lease_until - clock_timestamp()), 0)::float8 as lease_seconds
from postbus.webhook_slots
where token = any(@tokens::uuid[])
order by endpoint_id, slot
for update;

-- The results, each of a delivery in flight whose slot the turn holds, and the attempts that go on record. It answers what became
-- of those that still waited for a result.
-- name: SettleDeliveries :many
with results as (
    select
        unnest(@delivery_ids::bigint[]) as delivery_id,
        unnest(@states::text[]) as state,
        unnest(@reasons::text[]) as reason,
        unnest(@spent::integer[]) as spent,
        unnest(@tries::integer[]) as tries,
        unnest(@waits_seconds::float8[]) as wait_seconds
),
ends as (
    select
        r.delivery_id, r.reason, r.spent, r.tries,
        clock_timestamp() + make_interval(secs => r.wait_seconds) as next_at,
        case
            when r.state <> 'pending' then r.state
            when d.expires_at <= clock_timestamp() + make_interval(secs => r.wait_seconds) then 'expired'
            else 'pending'
        end as verdict
    from results as r
    join postbus.webhook_deliveries as d on d.id = r.delivery_id
),
logged as (
    insert into postbus.webhook_attempts (
        delivery_id, n, endpoint_id, attempted_at, url, spent, status, latency_ms, error, response_headers, response_body, truncated
    )
    select
        a.delivery_id, a.n, a.endpoint_id, clock_timestamp() - make_interval(secs => a.latency_ms / 1000), a.url, a.spent,
        nullif(a.status, 0), a.latency_ms, nullif(a.error, ''), a.headers::json, a.body, a.truncated
    from (
        select
            unnest(@logged_ids::bigint[]) as delivery_id,
            unnest(@ns::integer[]) as n,
            unnest(@endpoint_ids::uuid[]) as endpoint_id,
            unnest(@urls::text[]) as url,
            unnest(@logged_spent::boolean[]) as spent,
            unnest(@statuses::integer[]) as status,
            unnest(@latencies_ms::float8[]) as latency_ms,
            unnest(@errors::text[]) as error,
            unnest(@headers::text[]) as headers,
            unnest(@bodies::bytea[]) as body,
            unnest(@truncateds::boolean[]) as truncated
    ) as a
    on conflict (delivery_id, n) do nothing
)
update postbus.webhook_deliveries as d
set
    state = case e.verdict when 'expired' then 'discarded' else e.verdict end,
    reason = case e.verdict when 'expired' then 'expired before its next attempt; the last: ' || e.reason else nullif(e.reason, '') end,
    attempts = d.attempts + e.spent,
    tries = d.tries + e.tries,
    next_attempt_at = case e.verdict when 'pending' then e.next_at end,
    settled_at = case when e.verdict <> 'pending' then clock_timestamp() end,
    -- Nothing can be done about what a deleted endpoint did not get: no alert.
    acknowledged_at = case when e.verdict = 'discarded' and starts_with(e.reason, 'endpoint deleted') then clock_timestamp() end
from ends as e
where d.id = e.delivery_id and d.state = 'pending'
returning d.id, d.state;

-- name: EndpointsSucceeded :exec
update postbus.webhook_endpoints set failing_since = null
where id = any(@ids::uuid[]) and failing_since is not null;

-- name: EndpointsFailed :exec
update postbus.webhook_endpoints set failing_since = clock_timestamp()
where id = any(@ids::uuid[]) and failing_since is null;

-- name: CoolDown :exec
update postbus.webhook_endpoints
set cooldown_until = greatest(cooldown_until, clock_timestamp() + make_interval(secs => @seconds::float8))
where id = @id;

-- name: Pace :exec
update postbus.webhook_endpoints
set paced_until = greatest(paced_until, statement_timestamp()) + (interval '1 second' / rate_per_second) * sqlc.arg(sends)::float8
where id = @id and rate_per_second is not null;

-- name: DisableEndpoint :execrows
update postbus.webhook_endpoints
set enabled = false, disabled_reason = @reason::text, disabled_at = clock_timestamp(), updated_at = clock_timestamp()
where id = @id and enabled;

-- What waits at an endpoint that takes no more, a few of them: the poll sees to the rest. What is in flight ends by itself.
-- name: DiscardSome :execrows
update postbus.webhook_deliveries as d
set state = 'discarded', reason = @reason::text, next_attempt_at = null, settled_at = clock_timestamp()
where d.id in (
    select p.id
    from postbus.webhook_deliveries as p
    where
        p.endpoint_id = @endpoint_id and p.state = 'pending' and not p.behind
        and not exists (select from postbus.webhook_slots as s where s.endpoint_id = p.endpoint_id and s.delivery_id = p.id)
    order by p.next_attempt_at
    limit @most
);

-- What a slot had set aside is its delivery in flight from now on, unless it was settled otherwise.
-- name: Promote :many
update postbus.webhook_slots as s
set
    delivery_id = s.ahead_id, ahead_id = null, lease = gen_random_uuid(), touched_at = clock_timestamp(),
    lease_until = clock_timestamp() + make_interval(secs => @lease_seconds::float8)
from postbus.webhook_deliveries as d
where s.token = any(@tokens::uuid[]) and d.id = s.ahead_id and d.state = 'pending'
returning s.token, s.lease::uuid as lease;

-- Takes due deliveries of their endpoints for slots, as far as there are any: first those to be sent, whose slots it leases,
-- then those to be set aside.
-- name: TakeDeliveries :many
with wants as (
    select
        w.token, w.endpoint_id, w.ahead,
        row_number() over (partition by w.endpoint_id order by w.ahead, w.ord) as place,
        count(*) over (partition by w.endpoint_id) as wanted
    from (
        select
            unnest(@tokens::uuid[]) as token, unnest(@endpoint_ids::uuid[]) as endpoint_id,
            unnest(@aheads::boolean[]) as ahead, unnest(@ords::integer[]) as ord
    ) as w
),
due as (
    select e.endpoint_id, n.id, row_number() over (partition by e.endpoint_id order by n.next_attempt_at, n.id) as place
    from (select distinct w.endpoint_id, w.wanted from wants as w) as e
    cross join lateral (
        select d.id, d.next_attempt_at
        from postbus.webhook_deliveries as d
        where
            d.endpoint_id = e.endpoint_id and d.state = 'pending' and not d.behind
            and d.next_attempt_at <= statement_timestamp()
            and not exists (
                select from postbus.webhook_slots as s where s.endpoint_id = d.endpoint_id and d.id in (s.delivery_id, s.ahead_id)
            )
        order by d.next_attempt_at, d.id
        limit e.wanted
    ) as n
),
taken as (
    select w.token, due.id as delivery_id, due.place, w.ahead
    from wants as w
    join due on due.endpoint_id = w.endpoint_id and due.place = w.place
),
per_slot as (
    select
        t.token, max(t.delivery_id) filter (where not t.ahead) as delivery_id, max(t.delivery_id) filter (where t.ahead) as ahead_id
    from taken as t
    group by t.token
),
leased as (
    update postbus.webhook_slots as s
    set
        ahead_id = p.ahead_id, touched_at = clock_timestamp(),
        delivery_id = coalesce(p.delivery_id, s.delivery_id),
        lease = case when p.delivery_id is null then s.lease else gen_random_uuid() end,
        lease_until = case
            when p.delivery_id is null then s.lease_until
            else clock_timestamp() + make_interval(secs => @lease_seconds::float8)
        end
    from per_slot as p
    where s.token = p.token
    returning s.token, s.lease
)
select
    t.token::uuid as token, coalesce(l.lease, t.token)::uuid as lease, t.ahead::boolean as ahead, d.id, d.event_id, d.event_seq, d.event_type, d.subject, d.occurred_at,
    d.attempts, d.tries, coalesce(d.line, '')::text as line,
    (d.expires_at <= statement_timestamp())::boolean as expired,
    (e.id is null)::boolean as pruned, coalesce(e.data::text, '')::text as data, coalesce(e.trace, '')::text as trace,
    t.place, statement_timestamp()::timestamptz as taken_at
from taken as t
join leased as l on l.token = t.token
join postbus.webhook_deliveries as d on d.id = t.delivery_id
left join postbus.events as e on e.id = d.event_id
order by d.endpoint_id, t.place;

-- A delivery whose slot's lease ran out is taken again by the same slot: whoever sent it is dead or too late.
-- name: RetakeDeliveries :many
with retaken as (
    update postbus.webhook_slots as s
    set
        ahead_id = null, lease = gen_random_uuid(), touched_at = clock_timestamp(),
        lease_until = clock_timestamp() + make_interval(secs => @lease_seconds::float8)
    where s.token = any(@tokens::uuid[]) and s.delivery_id is not null
    returning s.token, s.lease, s.delivery_id
)
select
    t.token, t.lease::uuid as lease, false as ahead, d.id, d.event_id, d.event_seq, d.event_type, d.subject, d.occurred_at,
    d.attempts, d.tries, coalesce(d.line, '')::text as line,
    (d.expires_at <= statement_timestamp())::boolean as expired,
    (e.id is null)::boolean as pruned, coalesce(e.data::text, '')::text as data, coalesce(e.trace, '')::text as trace,
    0::bigint as place, statement_timestamp()::timestamptz as taken_at
from retaken as t
join postbus.webhook_deliveries as d on d.id = t.delivery_id and d.state = 'pending'
left join postbus.events as e on e.id = d.event_id;

-- Frees slots of what was in flight, without giving them up.
-- name: ClearSlots :exec
update postbus.webhook_slots
set delivery_id = null, ahead_id = null, lease = null, lease_until = null, touched_at = clock_timestamp()
where token = any(@tokens::uuid[]);

-- Before a lane closes it must be alone with its endpoint: a fan-out that is under way may have counted on it. Endpoints that
-- are held by one are left out.
-- name: AloneWith :many
select id
from postbus.webhook_endpoints
where id = any(@ids::uuid[])
order by id
for update skip locked;

-- name: CloseSlots :exec
delete from postbus.webhook_slots where token = any(@tokens::uuid[]);

-- The slot goes on under a new job.
-- name: PassOn :many
update postbus.webhook_slots
set token = gen_random_uuid(), job_id = null, delivery_id = null, ahead_id = null, lease = null, lease_until = null, touched_at = clock_timestamp()
where token = @token
returning token, endpoint_id;

-- Heads of lines that may not go yet: an earlier event of the owner and subject is visible and has not reached webhooks.
-- They look again shortly. It looks back over the 100 events before it, and no longer waits for one that a relay fanned out an
-- hour ago: its fan-out failed or was cancelled, which has an alert of its own.
-- name: PostponeHeads :execrows
update postbus.webhook_deliveries as d
set next_attempt_at = clock_timestamp() + make_interval(secs => @wait_seconds::float8)
from (
    select h.id
    from (
        select c.id, c.owner_id, c.subject, c.event_seq
        from postbus.webhook_deliveries as c
        where
            c.endpoint_id = @endpoint_id and c.state = 'pending' and not c.behind
            and c.next_attempt_at <= statement_timestamp()
            and not exists (
                select from postbus.webhook_slots as s where s.endpoint_id = c.endpoint_id and c.id in (s.delivery_id, s.ahead_id)
            )
        order by c.next_attempt_at, c.id
        limit @look
    ) as h
    where exists (
        select
        from (
            select b.id, b.type, b.fanned_out_at, b.poisoned_at, b.fanout
            from postbus.events as b
            where b.owner_id = h.owner_id and b.subject = h.subject and b.seq < h.event_seq
            order by b.seq desc
            limit 100
        ) as b
        join postbus.event_types as t on t.name = b.type and t.exposure = 'webhook'
        where
            b.poisoned_at is null
            and (
                b.fanned_out_at is null
                or b.fanout ? 'webhook.fanout' and b.fanned_out_at > statement_timestamp() - interval '1 hour'
            )
            and not exists (select from postbus.webhook_fanouts as f where f.event_id = b.id)
    )
) as held
where d.id = held.id;

-- When the endpoint's next delivery falls due, in seconds; at most the horizon.
-- name: SecondsToNext :one
select least(
    extract(epoch from min(n.next_attempt_at) - statement_timestamp()), @horizon::float8
)::float8 as seconds
from (
    select d.next_attempt_at
    from postbus.webhook_deliveries as d
    where
        d.endpoint_id = @endpoint_id and d.state = 'pending' and not d.behind
        and not exists (
            select from postbus.webhook_slots as s where s.endpoint_id = d.endpoint_id and d.id in (s.delivery_id, s.ahead_id)
        )
    order by d.next_attempt_at
    limit 1
) as n;

-- A turn does not wait for an endpoint that somebody works on for long: the lanes of the others wait with it. And its arrays
-- would make the planner plan anew each time, which costs more than the statements do.
-- name: BeginTurn :exec
select set_config('lock_timeout', '250ms', true), set_config('plan_cache_mode', 'force_generic_plan', true);
