-- name: ListJobs :many
-- Newest first. Conditions that are not asked for are folded away: the statement is planned with its values.
-- River's "available" holds jobs that may run now and those that wait a few seconds for their next attempt: the latter
-- (ListWaiting) count as retryable.
select
    j.id, j.kind, j.queue, j.state::text as state, j.args, j.metadata, j.attempt, j.max_attempts, j.created_at,
    j.scheduled_at, j.attempted_at, j.finalized_at, j.errors,
    coalesce(j.attempted_by[cardinality(j.attempted_by)], '')::text as instance,
    coalesce(j.state = 'available' and cardinality(j.errors) > 0 and j.scheduled_at > statement_timestamp(), false)::boolean as waits
from postbus.river_job as j
where (cardinality(sqlc.arg(ids)::bigint[]) = 0 or j.id = any(sqlc.arg(ids)::bigint[]))
    and (cardinality(sqlc.arg(kinds)::text[]) = 0 or j.kind = any(sqlc.arg(kinds)::text[]))
    and (cardinality(sqlc.arg(queues)::text[]) = 0 or j.queue = any(sqlc.arg(queues)::text[]))
    and (
        cardinality(sqlc.arg(states)::text[]) = 0
        or ('available' = any(sqlc.arg(states)::text[]) and j.state = 'available' and not j.id = any(sqlc.arg(waiting)::bigint[]))
        or ('waiting' = any(sqlc.arg(states)::text[]) and j.state = 'available' and j.id = any(sqlc.arg(waiting)::bigint[]))
        or ('pending' = any(sqlc.arg(states)::text[]) and j.state = 'pending')
        or ('retryable' = any(sqlc.arg(states)::text[]) and j.state = 'retryable')
        or ('running' = any(sqlc.arg(states)::text[]) and j.state = 'running')
        or ('scheduled' = any(sqlc.arg(states)::text[]) and j.state = 'scheduled')
        or ('cancelled' = any(sqlc.arg(states)::text[]) and j.state = 'cancelled' and j.finalized_at is not null)
        or ('completed' = any(sqlc.arg(states)::text[]) and j.state = 'completed' and j.finalized_at is not null)
        or ('discarded' = any(sqlc.arg(states)::text[]) and j.state = 'discarded' and j.finalized_at is not null)
    )
    and (sqlc.arg(owner)::text = '' or (j.metadata ? 'owner' and j.metadata ->> 'owner' = sqlc.arg(owner)::text))
    and (sqlc.arg(args)::text = '' or j.args @> nullif(sqlc.arg(args)::text, '')::jsonb)
    and (sqlc.arg(after)::timestamptz = '0001-01-01 00:00:00+00'::timestamptz or j.created_at >= sqlc.arg(after)::timestamptz)
    and (sqlc.arg(before)::timestamptz = '0001-01-01 00:00:00+00'::timestamptz or j.created_at < sqlc.arg(before)::timestamptz)
    and (sqlc.arg(below)::bigint = 0 or j.id < sqlc.arg(below)::bigint)
    and (sqlc.arg(from_id)::bigint = 0 or j.id >= sqlc.arg(from_id)::bigint)
    and (not sqlc.arg(unacked)::boolean or (j.state = 'discarded' and not j.metadata ? 'acknowledged_at'))
order by j.id desc
limit sqlc.arg(most);

-- name: ListJobIDs :many
-- The ids of what ListJobs lists, and that the act has not asked for yet.
select j.id
from postbus.river_job as j
where (cardinality(sqlc.arg(ids)::bigint[]) = 0 or j.id = any(sqlc.arg(ids)::bigint[]))
    and (cardinality(sqlc.arg(kinds)::text[]) = 0 or j.kind = any(sqlc.arg(kinds)::text[]))
    and (cardinality(sqlc.arg(queues)::text[]) = 0 or j.queue = any(sqlc.arg(queues)::text[]))
    and (
        cardinality(sqlc.arg(states)::text[]) = 0
        or ('available' = any(sqlc.arg(states)::text[]) and j.state = 'available' and not j.id = any(sqlc.arg(waiting)::bigint[]))
        or ('waiting' = any(sqlc.arg(states)::text[]) and j.state = 'available' and j.id = any(sqlc.arg(waiting)::bigint[]))
        or ('pending' = any(sqlc.arg(states)::text[]) and j.state = 'pending')
        or ('retryable' = any(sqlc.arg(states)::text[]) and j.state = 'retryable')
        or ('running' = any(sqlc.arg(states)::text[]) and j.state = 'running')
        or ('scheduled' = any(sqlc.arg(states)::text[]) and j.state = 'scheduled')
        or ('cancelled' = any(sqlc.arg(states)::text[]) and j.state = 'cancelled' and j.finalized_at is not null)
        or ('completed' = any(sqlc.arg(states)::text[]) and j.state = 'completed' and j.finalized_at is not null)
        or ('discarded' = any(sqlc.arg(states)::text[]) and j.state = 'discarded' and j.finalized_at is not null)
    )
    and (sqlc.arg(owner)::text = '' or (j.metadata ? 'owner' and j.metadata ->> 'owner' = sqlc.arg(owner)::text))
    and (sqlc.arg(args)::text = '' or j.args @> nullif(sqlc.arg(args)::text, '')::jsonb)
    and (sqlc.arg(after)::timestamptz = '0001-01-01 00:00:00+00'::timestamptz or j.created_at >= sqlc.arg(after)::timestamptz)
    and (sqlc.arg(before)::timestamptz = '0001-01-01 00:00:00+00'::timestamptz or j.created_at < sqlc.arg(before)::timestamptz)
    and (sqlc.arg(below)::bigint = 0 or j.id < sqlc.arg(below)::bigint)
    and (sqlc.arg(from_id)::bigint = 0 or j.id >= sqlc.arg(from_id)::bigint)
    and (not sqlc.arg(unacked)::boolean or (j.state = 'discarded' and not j.metadata ? 'acknowledged_at'))
    and (not sqlc.arg(unasked)::boolean or j.state <> 'running' or not j.metadata ? 'cancel_attempted_at')
order by j.id desc
limit sqlc.arg(most);

-- name: JobState :one
select
    j.state::text as state,
    coalesce(j.state = 'available' and cardinality(j.errors) > 0 and j.scheduled_at > statement_timestamp(), false)::boolean as waits
from postbus.river_job as j
where j.id = @id;

-- name: UnfinishedJobs :many
select j.id
from postbus.river_job as j
where j.id = any(@ids::bigint[]) and j.state not in ('completed', 'cancelled', 'discarded');

-- name: RetryJobs :many
-- Jobs that wait for an attempt or have ended run again now, with an attempt to spend and no memory of a cancel or an
-- acknowledgement. Where another job has taken the unique key meanwhile, the job stays as it is.
with held as (
    select j.id, j.unique_key
    from postbus.river_job as j
    where j.id = any(@ids::bigint[])
        and (
            j.state in ('retryable', 'completed', 'cancelled', 'discarded')
            or (j.state = 'available' and cardinality(j.errors) > 0 and j.scheduled_at > statement_timestamp())
        )
    order by j.id
    for update
),
free as (
    select held.id
    from held
    where held.unique_key is null
        or (
            not exists (
                select from postbus.river_job as o
                where o.unique_key = held.unique_key and o.id <> held.id
                    and o.unique_key is not null and o.unique_states is not null
                    and postbus.river_job_state_in_bitmask(o.unique_states, o.state)
            )
            and not exists (select from held as h where h.unique_key = held.unique_key and h.id > held.id)
        )
),
retried as (
    update postbus.river_job as j
    set
        state = 'available',
        scheduled_at = clock_timestamp(),
        finalized_at = null,
        max_attempts = greatest(j.max_attempts, j.attempt + 1),
        metadata = j.metadata - 'cancel_attempted_at' - 'acknowledged_at'
    from free
    where j.id = free.id
    returning j.id, j.queue
),
told as (
    select postbus.wake_queue(woken.queue)
    from (select distinct retried.queue from retried) as woken
)
select retried.id
from retried
cross join (select count(*) as n from told) as notified;

-- name: CancelJobs :many
-- Ends what does not run; marks what runs and tells its producer, which cancels the context.
with held as (
    select j.id, j.queue, (j.state = 'running')::boolean as runs
    from postbus.river_job as j
    where j.id = any(@ids::bigint[]) and j.state not in ('completed', 'cancelled')
    order by j.id
    for update
),
cancelled as (
    update postbus.river_job as j
    set
        state = case when held.runs then j.state else 'cancelled' end,
        finalized_at = case when held.runs then null else clock_timestamp() end,
        metadata = j.metadata || jsonb_build_object('cancel_attempted_at', clock_timestamp())
    from held
    where j.id = held.id and not (held.runs and j.metadata ? 'cancel_attempted_at')
    returning j.id, j.queue, held.runs
),
told as (
    select case
        when held.runs
        then pg_notify('postbus.river_control',
            json_build_object('action', 'cancel', 'job_id', held.id, 'queue', held.queue)::text)
        else pg_notify('postbus_settled', held.id::text)
    end
    from held
)
select cancelled.id
from cancelled
cross join (select count(*) as n from told) as notified;

-- name: AcknowledgeJob :execrows
-- The first acknowledgement stands.
update postbus.river_job as j
set metadata = jsonb_build_object('acknowledged_at', clock_timestamp()) || j.metadata
where j.id = @id and j.state = 'discarded';

-- name: CountGroups :many
-- The jobs of each (state, kind, queue), counted up to @most.
select g.state::text as state, g.kind::text as kind, c.n::bigint as n
from (
    select unnest(@states::text[])::postbus.river_job_state as state, unnest(@kinds::text[]) as kind, unnest(@queues::text[]) as queue
) as g
cross join lateral (
    select count(*) as n
    from (
        select from postbus.river_job as j
        where j.state = g.state and j.kind = g.kind and j.queue = g.queue
        limit @most
    ) as m
) as c
where c.n > 0;

-- name: CountWaiting :many
-- Available jobs that wait for their next attempt (at most 5 s away), per queue and kind: they count as retryable.
with recursive queues as (
    (
        select j.queue
        from postbus.river_job as j
        where j.state = 'available'
        order by j.queue
        limit 1
    )
    union all
    select n.queue
    from queues as q
    cross join lateral (
        select j.queue
        from postbus.river_job as j
        where j.state = 'available' and j.queue > q.queue
        order by j.queue
        limit 1
    ) as n
)
select w.queue::text as queue, w.kind::text as kind, count(*) as n
from queues as q
cross join lateral (
    select j.queue, j.kind
    from postbus.river_job as j
    where j.state = 'available' and j.queue = q.queue and j.priority = 1 and j.scheduled_at > statement_timestamp()
        and cardinality(j.errors) > 0
    limit @most
) as w
group by w.queue, w.kind;

-- name: ListWaiting :many
-- The ids of what CountWaiting counts.
with recursive queues as (
    (
        select j.queue
        from postbus.river_job as j
        where j.state = 'available'
        order by j.queue
        limit 1
    )
    union all
    select n.queue
    from queues as q
    cross join lateral (
        select j.queue
        from postbus.river_job as j
        where j.state = 'available' and j.queue > q.queue
        order by j.queue
        limit 1
    ) as n
)
select w.id
from queues as q
cross join lateral (
    select j.id
    from postbus.river_job as j
    where j.state = 'available' and j.queue = q.queue and j.priority = 1 and j.scheduled_at > statement_timestamp()
        and cardinality(j.errors) > 0
    limit @most
) as w;

-- name: FindIDAt :one
-- An id such that jobs with smaller ids were made before the time given, by bisection along the key: ids are drawn in the
-- order of time, but for statements that overlap. Callers allow for those.
with recursive span as (
    select coalesce(min(j.id), 1) as lo, coalesce(max(j.id), 0) + 1 as hi from postbus.river_job as j
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
            select j.id, j.created_at
            from postbus.river_job as j
            where j.id >= (span.lo + span.hi) / 2 and j.id < span.hi
            order by j.id
            limit 1
        ) as f
    ) as m
    where span.lo < span.hi
)
select min(span.hi)::bigint as id from span;

-- name: CountFinished :many
-- Finished jobs of every kind, counted up to @most.
select s.state::text as state, c.n::bigint as n
from (select unnest(array['completed', 'cancelled']) as state) as s
cross join lateral (
    select count(*) as n
    from (
        select from postbus.river_job as j
        where j.state = s.state::postbus.river_job_state and j.finalized_at is not null
        limit @most
    ) as m
) as c;

-- name: EstimateStates :many
-- The planner's idea of the jobs per state, from the latest ANALYZE.
select e.state::text as state, e.n::bigint as n
from (
    select
        unnest(s.most_common_vals::text::text[]) as state,
        unnest(s.most_common_freqs) * greatest(c.reltuples, 0) as n
    from pg_catalog.pg_stats as s
    inner join pg_catalog.pg_class as c on c.oid = 'postbus.river_job'::regclass
    where s.schemaname = 'postbus' and s.tablename = 'river_job' and s.attname = 'state'
) as e;

-- name: EstimateKind :one
-- The planner's idea of how many jobs a kind has.
select coalesce(max(e.n), 0)::bigint as n
from (
    select
        unnest(s.most_common_vals::text::text[]) as kind,
        unnest(s.most_common_freqs) * greatest(c.reltuples, 0) as n
    from pg_catalog.pg_stats as s
    inner join pg_catalog.pg_class as c on c.oid = 'postbus.river_job'::regclass
    where s.schemaname = 'postbus' and s.tablename = 'river_job' and s.attname = 'kind'
) as e
where e.kind = @kind::text;

-- name: OldestPending :one
-- When the job that waits longest for a worker could first have run: the first of each queue is at hand.
with recursive queues as (
    (
        select j.queue
        from postbus.river_job as j
        where j.state = 'available'
        order by j.queue
        limit 1
    )
    union all
    select n.queue
    from queues as q
    cross join lateral (
        select j.queue
        from postbus.river_job as j
        where j.state = 'available' and j.queue > q.queue
        order by j.queue
        limit 1
    ) as n
)
select min(o.scheduled_at)::timestamptz as scheduled_at
from queues as q
cross join lateral (
    select j.scheduled_at
    from postbus.river_job as j
    where j.state = 'available' and j.queue = q.queue and j.priority = 1 and j.scheduled_at <= statement_timestamp()
    order by j.scheduled_at
    limit 1
) as o
having count(*) > 0;

-- name: OldestPendingOf :one
-- OldestPending of one kind, among the @most of each queue that the index has first.
select min(o.scheduled_at)::timestamptz as scheduled_at
from (select unnest(@queues::text[]) as queue) as q
cross join lateral (
    select j.scheduled_at
    from postbus.river_job as j
    where j.state = 'available' and j.kind = @kind and j.queue = q.queue
    order by j.id
    limit @most
) as o
where o.scheduled_at <= statement_timestamp()
having count(*) > 0;

-- name: CountUnacked :one
-- Discarded jobs that nobody has acknowledged, counted up to @most; beyond it what the planner has of their index.
select (case when c.n < @most::int then c.n else greatest(c.n, i.reltuples) end)::bigint as n
from (
    select count(*) as n
    from (
        select from postbus.river_job as j
        where j.state = 'discarded' and not j.metadata ? 'acknowledged_at'
        limit @most::int
    ) as m
) as c
cross join pg_catalog.pg_class as i
where i.oid = 'postbus.postbus_job_unacked'::regclass;

-- name: CountUnackedOf :one
-- CountUnacked of a kind, among the @most newest of its discarded jobs in each queue.
select count(*)
from (select unnest(@queues::text[]) as queue) as q
cross join lateral (
    select j.metadata
    from postbus.river_job as j
    where j.state = 'discarded' and j.kind = @kind and j.queue = q.queue
    order by j.id desc
    limit @most
) as m
where not m.metadata ? 'acknowledged_at';

-- name: EndedJobs :many
-- Those of the ids that have ended, or are gone.
select w.id::bigint as id
from (select unnest(@ids::bigint[]) as id) as w
left join postbus.river_job as j on j.id = w.id
where j.id is null or j.state in ('completed', 'cancelled', 'discarded');
