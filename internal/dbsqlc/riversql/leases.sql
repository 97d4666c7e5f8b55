-- name: LeaseJobs :many
-- @lease_us is null for the kind's own lease.
select postbus.lease_jobs(
    @kinds::text[], @worker::text, @most::int, sqlc.narg(lease_us)::bigint * interval '1 microsecond'
)::text as leased;

-- name: ExtendLease :one
select postbus.extend_lease(@lease::text, sqlc.arg(wanted_us)::bigint * interval '1 microsecond')::timestamptz as until;

-- name: SettleLease :one
-- @wait_us is null for the kind's own wait.
select postbus.settle_lease(
    @lease::text, @verdict::text, @error::text, sqlc.narg(wait_us)::bigint * interval '1 microsecond', sqlc.narg(result)::text::json
)::text as state;

-- name: EndLeases :many
-- Gives back what the workers of external kinds neither settled nor extended in time.
select postbus.end_leases(null)::text as ended;

-- name: DeclareKinds :many
-- Mirrors what an application declares. A name that was declared in SQL is not taken over: the answer has those that were.
insert into postbus.kinds as k (name, app, external, queue, max_attempts, lease_us, waits_us, receipt)
select
    d.name, @app::text, d.external, d.queue, d.max_attempts, d.lease_us,
    string_to_array(d.waits, ',')::bigint[], d.receipt
from (
    select
        unnest(@names::text[]) as name, unnest(@externals::boolean[]) as external, unnest(@queues::text[]) as queue,
        unnest(@max_attempts::int[]) as max_attempts, unnest(@leases_us::bigint[]) as lease_us, unnest(@waits::text[]) as waits,
        unnest(@receipts::boolean[]) as receipt
    order by 1
) as d
on conflict (name) do update
set app = excluded.app, external = excluded.external, queue = excluded.queue, max_attempts = excluded.max_attempts,
    lease_us = excluded.lease_us, waits_us = excluded.waits_us, receipt = excluded.receipt, seen_at = clock_timestamp()
where k.app is not null
returning k.name;

-- name: TouchKinds :exec
-- Says that the kinds are still declared. Rows that somebody refreshed within the minute are left alone.
update postbus.kinds as k
set seen_at = clock_timestamp()
where k.name = any(@names::text[]) and k.app is not null and k.seen_at < statement_timestamp() - interval '1 minute';

-- name: NoteFunctions :execrows
-- Notes which version of the functions is made; no row where it is this one already.
insert into postbus.settings as s (name, value) values ('river_functions', @version)
on conflict (name) do update set value = excluded.value
where s.value <> excluded.value;
