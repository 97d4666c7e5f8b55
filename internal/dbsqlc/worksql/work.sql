-- name: DeclareKind :exec
select postbus.declare_kind(
    d.kind, d.max_attempts, d.lease_us * interval '1 microsecond',
    array(
        select w.us * interval '1 microsecond'
        from unnest(d.waits_us) with ordinality as w (us, place)
        order by w.place
    ),
    d.description
)
from (
    select
        @kind::text as kind, @max_attempts::int as max_attempts, @lease_us::bigint as lease_us, @waits_us::bigint[] as waits_us,
        @description::text as description
) as d;

-- name: DeclareSubscription :exec
select postbus.declare_subscription(
    d.name, d.types, d.max_attempts, d.lease_us * interval '1 microsecond',
    array(
        select w.us * interval '1 microsecond'
        from unnest(d.waits_us) with ordinality as w (us, place)
        order by w.place
    ),
    d.coalesces, d.description
)
from (
    select
        @name::text as name, @types::text[] as types, @max_attempts::int as max_attempts, @lease_us::bigint as lease_us,
        @waits_us::bigint[] as waits_us, @coalesces::boolean as coalesces, @description::text as description
) as d;

-- name: RetireKind :exec
select postbus.retire_kind(@kind::text);

-- name: Enqueue :one
select postbus.enqueue(d.kind, d.args::json, nullif(d.run_at, '0001-01-01 00:00:00+00'::timestamptz), d.owner)::uuid as event_id
from (select @kind::text as kind, @args::text as args, @run_at::timestamptz as run_at, @owner::text as owner) as d;

-- name: SeeWorker :exec
select postbus.see_worker(@worker::text, @kinds::text[]);

-- name: NotExternal :many
-- Those of the kinds that are not declared as external.
select k.name::text as name
from unnest(@kinds::text[]) as k (name)
where not exists (select from postbus.kinds as d where d.name = k.name and d.external)
order by k.name;

-- name: ListExternal :many
-- External kinds by name, each with the types of its subscription, if it is one's, and the workers that claimed it in the last five
-- minutes. Both tables have a row a declaration.
select
    k.name, coalesce(k.app, '')::text as app, k.max_attempts, k.lease_us, k.waits_us, k.description, k.seen_at,
    array(
        select distinct t.glob
        from postbus.subscriptions as s
        cross join lateral unnest(s.types) as t (glob)
        where s.name = k.name
        order by t.glob
    )::text[] as types,
    (
        select count(*)
        from postbus.workers as w
        where k.name = any(w.kinds) and w.seen_at > statement_timestamp() - interval '5 minutes'
    )::bigint as workers
from postbus.kinds as k
where k.external and k.name > @after::text
order by k.name
limit @most;

-- name: ListWorkers :many
select w.name, w.kinds, w.seen_at
from postbus.workers as w
where w.name > @after::text
order by w.name
limit @most;

-- name: PruneWorkers :exec
delete from postbus.workers as w where w.seen_at < statement_timestamp() - interval '1 day';
