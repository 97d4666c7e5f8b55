-- name: ListLostJobs :many
-- Running jobs whose instance is not known, or was not seen for the given time. Leases of external kinds end by themselves.
select j.id, j.attempt, j.attempted_at, j.attempted_by[cardinality(j.attempted_by)]::text as instance
from postbus.river_job as j
left join postbus.instances as i
    on i.id = j.attempted_by[cardinality(j.attempted_by)]
    and i.seen_at > statement_timestamp() - sqlc.arg(dead_after_us)::bigint * interval '1 microsecond'
where j.state = 'running' and i.id is null and not starts_with(j.queue, 'work|')
order by j.id
limit 1000;

-- name: ListOverdueJobs :many
-- Running jobs of the given kinds that exceed the time given for their kind.
select j.id, j.attempt, j.attempted_at, j.kind
from postbus.river_job as j
inner join (
    select unnest(@kinds::text[]) as kind, unnest(@limits_us::bigint[]) as limit_us
) as k on k.kind = j.kind
where j.state = 'running' and j.attempted_at < statement_timestamp() - k.limit_us * interval '1 microsecond'
order by j.id
limit 1000;

-- name: ListHeldJobs :many
-- What the database says that this instance runs.
select j.id, j.attempt, j.attempted_at, (j.metadata ? 'cancel_attempted_at')::boolean as cancel_asked,
    (j.attempted_at < statement_timestamp() - interval '5 seconds')::boolean as settled_in
from postbus.river_job as j
where j.state = 'running' and j.attempted_by[cardinality(j.attempted_by)] = @instance::text and not starts_with(j.queue, 'work|');

-- name: TakeBackJobs :many
-- Gives runs back to their queue, or ends them where no attempt is left. A run is named by id, attempt and the time of its
-- fetch, so that whoever finished or took it in between wins. A run that never began (@begun false) costs no attempt.
with lost as (
    select
        unnest(@ids::bigint[]) as id,
        unnest(@attempts::int[]) as attempt,
        unnest(@attempted_ats::timestamptz[]) as attempted_at,
        unnest(@errors::text[]) as error
),
held as (
    select
        j.id, lost.error,
        case
            when j.metadata ? 'cancel_attempted_at' then 'cancelled'
            when @begun::boolean and j.attempt >= j.max_attempts then 'discarded'
            else 'available'
        end as state
    from postbus.river_job as j
    inner join lost on lost.id = j.id
    where j.state = 'running' and j.attempt = lost.attempt and j.attempted_at = lost.attempted_at
    order by j.id
    for update of j skip locked
),
taken as (
    update postbus.river_job as j
    set
        state = held.state::postbus.river_job_state,
        attempt = case when @begun::boolean or held.state <> 'available' then j.attempt else j.attempt - 1 end,
        scheduled_at = case when held.state = 'available' then clock_timestamp() else j.scheduled_at end,
        finalized_at = case when held.state <> 'available' then clock_timestamp() end,
        errors = case
            when held.error = '' then j.errors
            else array_append(j.errors, jsonb_build_object(
                'at', clock_timestamp(), 'attempt', j.attempt, 'error', held.error, 'trace', ''
            ))
        end
    from held
    where j.id = held.id
    returning j.id, j.state, j.queue, j.kind, j.attempt
),
told as (
    select case
        when taken.state = 'available'
        then postbus.wake_queue(taken.queue)
        else pg_notify('postbus_settled', taken.id::text)::text
    end
    from taken
)
select taken.id, taken.state::text as state, taken.kind, taken.attempt
from taken
cross join (select count(*) as n from told) as notified;

-- name: PromoteJobs :many
-- Makes parked jobs available that are due within 5 s; no one fetches them before they are.
with due as (
    select j.id
    from postbus.river_job as j
    where j.state in ('scheduled', 'retryable') and j.scheduled_at < statement_timestamp() + interval '5 seconds'
    order by j.scheduled_at
    limit @most
    for update skip locked
)
update postbus.river_job as j
set state = 'available'
from due
where j.id = due.id
returning j.queue, greatest(extract(epoch from j.scheduled_at - clock_timestamp()) * 1000000, 0)::bigint as due_in_us;

-- name: PruneJobs :one
-- Deletes ended jobs in small groups. A discarded job that nobody has acknowledged stays: nothing fails in silence.
with completed as (
    select j.id from postbus.river_job as j
    where j.state = 'completed' and j.finalized_at < statement_timestamp() - sqlc.arg(completed_us)::bigint * interval '1 microsecond'
    order by j.finalized_at
    limit @most::int
    for update skip locked
),
cancelled as (
    select j.id from postbus.river_job as j
    where j.state = 'cancelled' and j.finalized_at < statement_timestamp() - sqlc.arg(cancelled_us)::bigint * interval '1 microsecond'
    order by j.finalized_at
    limit @most::int
    for update skip locked
),
discarded as (
    select j.id from postbus.river_job as j
    where j.state = 'discarded' and j.metadata ? 'acknowledged_at'
        and j.finalized_at < statement_timestamp() - sqlc.arg(discarded_us)::bigint * interval '1 microsecond'
    order by j.finalized_at
    limit @most::int
    for update skip locked
),
gone as (
    delete from postbus.river_job as j
    using (
        select completed.id from completed
        union all
        select cancelled.id from cancelled
        union all
        select discarded.id from discarded
    ) as old
    where j.id = old.id
    returning j.id
)
select count(*) from gone;
