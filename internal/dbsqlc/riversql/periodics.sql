-- name: DeclarePeriodic :exec
-- Ticks up to its first declaration, or up to the change of its schedule, do not run.
insert into postbus.periodics as p (app, name, schedule)
values (@app, @name, @schedule)
on conflict (app, name) do update
set
    schedule = excluded.schedule,
    seen_at = excluded.seen_at,
    since = case when p.schedule = excluded.schedule then p.since else excluded.since end;

-- name: TouchPeriodics :exec
update postbus.periodics as p
set seen_at = clock_timestamp()
where p.app = @app and p.name = any(@names::text[]) and p.seen_at < clock_timestamp() - interval '1 minute';

-- name: PeriodicClocks :many
-- What an application needs to know which ticks are due.
select p.name, clock_timestamp()::timestamptz as now, greatest(p.since, r.slot)::timestamptz as done
from postbus.periodics as p
left join lateral (
    select h.slot
    from postbus.periodic_runs as h
    where h.app = p.app and h.name = p.name and not h.by_hand
    order by h.slot desc
    limit 1
) as r on true
where p.app = @app and p.name = any(@names::text[]) and p.paused_at is null;

-- name: ClaimSlot :execrows
-- Whoever inserts the row enqueues the job, in this transaction: one job a tick over all instances.
insert into postbus.periodic_runs (app, name, slot)
select p.app, p.name, sqlc.arg(slot)::timestamptz
from postbus.periodics as p
where p.app = @app and p.name = @name and p.paused_at is null and p.since < sqlc.arg(slot)::timestamptz
for share of p
on conflict (app, name, slot) do nothing;

-- name: ClaimByHand :one
insert into postbus.periodic_runs (app, name, slot, by_hand)
select p.app, p.name, clock_timestamp(), true
from postbus.periodics as p
where p.app = @app and p.name = @name
returning slot;

-- name: NamePeriodicJob :exec
update postbus.periodic_runs
set job_id = sqlc.arg(job_id)::text
where app = @app and name = @name and slot = @slot;

-- name: BeginPeriodicRun :exec
update postbus.periodic_runs
set began_at = clock_timestamp(), ended_at = null, result = 'running', error = null
where app = @app and name = @name and slot = @slot;

-- name: EndPeriodicRun :exec
update postbus.periodic_runs
set ended_at = clock_timestamp(), result = sqlc.arg(result)::text, error = nullif(sqlc.arg(error)::text, '')
where app = @app and name = @name and slot = @slot;

-- name: ListPeriodics :many
select p.app, p.name, p.schedule, (p.paused_at is not null)::boolean as paused, clock_timestamp()::timestamptz as now,
    coalesce(t.slot, '0001-01-01 00:00:00+00'::timestamptz)::timestamptz as last_slot, r.began_at, coalesce(r.result, '')::text as result, coalesce(r.error, '')::text as error,
    coalesce(r.job_id, '')::text as job_id
from postbus.periodics as p
left join lateral (
    select h.slot
    from postbus.periodic_runs as h
    where h.app = p.app and h.name = p.name and not h.by_hand
    order by h.slot desc
    limit 1
) as t on true
left join lateral (
    select h.began_at, h.result, h.error, h.job_id
    from postbus.periodic_runs as h
    where h.app = p.app and h.name = p.name
    order by h.slot desc
    limit 1
) as r on true
order by p.app, p.name;

-- name: PausePeriodic :execrows
update postbus.periodics as p
set paused_at = coalesce(p.paused_at, clock_timestamp())
where p.app = @app and p.name = @name;

-- name: ResumePeriodic :execrows
-- Ticks of the pause do not run.
update postbus.periodics as p
set since = case when p.paused_at is null then p.since else clock_timestamp() end, paused_at = null
where p.app = @app and p.name = @name;

-- name: PrunePeriodicRuns :exec
-- Keeps 30 days and 1,000 runs of each, and the latest whatever its age.
delete from postbus.periodic_runs as r
using (
    select h.app, h.name, h.slot, row_number() over (partition by h.app, h.name order by h.slot desc) as place
    from postbus.periodic_runs as h
) as n
where r.app = n.app and r.name = n.name and r.slot = n.slot
    and (n.place > 1000 or (n.place > 1 and r.slot < clock_timestamp() - interval '30 days'));
