-- name: InsertJobs :many
-- The whole batch in one round trip, all or none. Ids are drawn before the insert, so that each entry finds its own again.
-- A duplicate unique key answers with the job that stands: the update that changes nothing waits for a concurrent insert
-- of the same key and sees its id. Keys are inserted in order, so that two batches with the same keys do not deadlock.
-- The notifications wake River's producers when the transaction commits.
-- A verdict says what came of a first attempt that was made elsewhere: the job begins as SettleJobs would leave it.
with raw as (
    select
        unnest(@ords::int[]) as ord,
        unnest(@kinds::text[]) as kind,
        unnest(@args::text[]) as args,
        unnest(@metadata::text[]) as metadata,
        unnest(@queues::text[]) as queue,
        unnest(@max_attempts::int[]) as max_attempts,
        unnest(@run_ats::timestamptz[]) as run_at,
        unnest(@unique_keys::bytea[]) as unique_key,
        unnest(@verdicts::text[]) as verdict,
        unnest(@wait_us::bigint[]) as wait_us,
        unnest(@errors::text[]) as error,
        unnest(@traces::text[]) as trace
),
input as materialized (
    select
        raw.ord, raw.kind, raw.args, raw.metadata, raw.queue, raw.max_attempts, raw.unique_key, raw.error, raw.trace,
        raw.verdict in ('failed', 'discarded') as spent,
        raw.verdict = 'failed' and raw.max_attempts > 1 as again,
        raw.verdict = 'discarded' or (raw.verdict = 'failed' and raw.max_attempts = 1) as ended,
        case
            when raw.verdict <> '' then clock_timestamp() + raw.wait_us * interval '1 microsecond'
            else nullif(raw.run_at, '0001-01-01 00:00:00+00'::timestamptz)
        end as run_at,
        nextval('postbus.river_job_id_seq') as id
    from raw
),
inserted as (
    insert into postbus.river_job as j (
        id, args, created_at, kind, max_attempts, metadata, queue, scheduled_at, state, unique_key, unique_states,
        attempt, attempted_at, finalized_at, errors
    )
    select
        input.id, input.args::jsonb, clock_timestamp(), input.kind, input.max_attempts, input.metadata::jsonb, input.queue,
        coalesce(input.run_at, clock_timestamp()),
        case
            when input.ended then 'discarded'::postbus.river_job_state
            when input.again and input.run_at > clock_timestamp() + interval '5 seconds' then 'retryable'::postbus.river_job_state
            when input.run_at > clock_timestamp() + interval '5 seconds' then 'scheduled'::postbus.river_job_state
            else 'available'::postbus.river_job_state
        end,
        input.unique_key,
        case when input.unique_key is not null then b'11110101' end,
        input.spent::int,
        case when input.spent then clock_timestamp() end,
        case when input.ended then clock_timestamp() end,
        case
            when input.spent then array[jsonb_build_object(
                'at', clock_timestamp(), 'attempt', 1, 'error', input.error, 'trace', input.trace
            )]
        end
    from input
    order by input.unique_key nulls first, input.ord
    on conflict (unique_key)
    where unique_key is not null
        and unique_states is not null
        and postbus.river_job_state_in_bitmask(unique_states, state)
    do update set kind = j.kind
    returning j.id, j.unique_key
),
told as (
    select postbus.wake_queue(woken.queue)
    from (select unnest(@wake::text[]) as queue) as woken
)
select input.ord::int as ord, coalesce(fresh.id, standing.id)::bigint as id
from input
left join inserted as fresh on fresh.id = input.id
left join inserted as standing on standing.unique_key = input.unique_key and fresh.id is null
cross join (select count(*) as n from told) as notified;

-- name: WakeQueues :exec
-- Tells River's producers, or the workers of an external kind, that the queues have something to fetch.
select postbus.wake_queue(woken.queue)
from (select unnest(@queues::text[]) as queue) as woken;

-- name: InsertPlainJobs :many
-- InsertJobs for a batch without unique keys: nothing can conflict, so every entry gets the id that was drawn for it.
with input as materialized (
    select
        raw.ord, raw.kind, raw.args, raw.metadata, raw.queue, raw.max_attempts,
        nullif(raw.run_at, '0001-01-01 00:00:00+00'::timestamptz) as run_at,
        nextval('postbus.river_job_id_seq') as id
    from (
        select
            unnest(@ords::int[]) as ord,
            unnest(@kinds::text[]) as kind,
            unnest(@args::text[]) as args,
            unnest(@metadata::text[]) as metadata,
            unnest(@queues::text[]) as queue,
            unnest(@max_attempts::int[]) as max_attempts,
            unnest(@run_ats::timestamptz[]) as run_at
    ) as raw
),
inserted as (
    insert into postbus.river_job (id, args, created_at, kind, max_attempts, metadata, queue, scheduled_at, state)
    select
        input.id, input.args::jsonb, clock_timestamp(), input.kind, input.max_attempts, input.metadata::jsonb, input.queue,
        coalesce(input.run_at, clock_timestamp()),
        case
            when input.run_at > clock_timestamp() + interval '5 seconds' then 'scheduled'::postbus.river_job_state
            else 'available'::postbus.river_job_state
        end
    from input
),
told as (
    select postbus.wake_queue(woken.queue)
    from (select unnest(@wake::text[]) as queue) as woken
)
select input.ord::int as ord, input.id::bigint as id
from input
cross join (select count(*) as n from told) as notified;
