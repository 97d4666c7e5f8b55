-- name: CountJobs :one
-- How many jobs ListJobs would list in all, counted up to @most. Conditions that are not asked for are folded away, as there.
select count(*) as n
from (
    select
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
    limit sqlc.arg(most)
) as m;

-- name: FreeToRetry :many
-- Those of the ids, newest first, whose unique key no other job holds; of several with one key the newest. RetryJobs leaves
-- the others as they are: a bulk retry that began with them would never come past them.
with held as materialized (
    select j.id, j.unique_key
    from postbus.river_job as j
    where j.id = any(@ids::bigint[])
)
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
order by held.id desc;

-- name: AcknowledgeJobs :execrows
-- The first acknowledgement stands; only new ones count.
with held as (
    select j.id
    from postbus.river_job as j
    where j.id = any(@ids::bigint[]) and j.state = 'discarded' and not j.metadata ? 'acknowledged_at'
    order by j.id
    for update
)
update postbus.river_job as j
set metadata = j.metadata || jsonb_build_object('acknowledged_at', clock_timestamp())
from held
where j.id = held.id;
