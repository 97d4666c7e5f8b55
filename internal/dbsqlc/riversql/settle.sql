-- name: SettleJobs :many
-- Records how runs ended. A run is named by id, attempt and the time at which it was fetched: a row that was taken back
-- since, by the reaper or by an operator, is left alone, so that a late outcome never ends a later run.
-- A run whose cancel was asked for ends as cancelled, unless it completed. A wait of up to 5 s leaves the job available
-- with a due time; beyond that it is parked until promoted. Ends that somebody waits for are told in the same transaction,
-- 350 ids a payload (< 8,000 bytes).
with outcome as (
    select
        unnest(@ids::bigint[]) as id,
        unnest(@attempts::int[]) as attempt,
        unnest(@attempted_ats::timestamptz[]) as attempted_at,
        unnest(@verdicts::text[]) as verdict,
        unnest(@wait_us::bigint[]) as wait_us,
        unnest(@errors::text[]) as error,
        unnest(@traces::text[]) as trace,
        unnest(@receipts::boolean[]) as receipt,
        unnest(@results::text[]) as result
),
held as (
    select
        j.id, outcome.verdict, outcome.wait_us, outcome.error, outcome.trace, outcome.receipt, outcome.result,
        case
            when outcome.verdict = 'completed' then 'completed'
            when outcome.verdict = 'cancelled' or j.metadata ? 'cancel_attempted_at' then 'cancelled'
            when outcome.verdict = 'discarded' then 'discarded'
            when outcome.verdict = 'failed' and j.attempt >= j.max_attempts then 'discarded'
            when outcome.wait_us <= 5000000 then 'available'
            when outcome.verdict = 'failed' or cardinality(j.errors) > 0 then 'retryable'
            else 'scheduled'
        end as state
    from postbus.river_job as j
    inner join outcome on outcome.id = j.id
    where j.state = 'running' and j.attempt = outcome.attempt and j.attempted_at = outcome.attempted_at
    order by j.id
    for update of j
),
settled as (
    update postbus.river_job as j
    set
        state = held.state::postbus.river_job_state,
        attempt = case
            when held.verdict in ('snoozed', 'interrupted') and held.state <> 'cancelled' then j.attempt - 1
            else j.attempt
        end,
        scheduled_at = case
            when held.verdict = 'interrupted' or held.state in ('completed', 'cancelled', 'discarded') then j.scheduled_at
            else clock_timestamp() + held.wait_us * interval '1 microsecond'
        end,
        finalized_at = case when held.state in ('completed', 'cancelled', 'discarded') then clock_timestamp() end,
        errors = case
            when held.error = '' then j.errors
            else array_append(j.errors, jsonb_build_object(
                'at', clock_timestamp(), 'attempt', j.attempt, 'error', held.error, 'trace', held.trace
            ))
        end,
        metadata = case
            when held.verdict = 'snoozed'
            then j.metadata || jsonb_build_object('snoozes', coalesce((j.metadata ->> 'snoozes')::int, 0) + 1)
            when held.state = 'completed' and held.result <> '' then j.metadata || jsonb_build_object('result', held.result)
            else j.metadata
        end
    from held
    where j.id = held.id
    returning j.id, j.state, j.queue, j.scheduled_at, j.finalized_at, held.receipt
),
told as (
    select pg_notify('postbus_settled', string_agg(chunked.id::text, ','))
    from (
        select settled.id, (row_number() over () - 1) / 350 as chunk
        from settled
        where settled.receipt and settled.finalized_at is not null
    ) as chunked
    group by chunked.chunk
)
select settled.id, settled.state::text as state, settled.queue,
    greatest(extract(epoch from settled.scheduled_at - clock_timestamp()) * 1000000, 0)::bigint as due_in_us
from settled
cross join (select count(*) as n from told) as notified;
