-- Recording: no row comes back where the type is not declared.
-- name: RecordEvent :one
insert into postbus.events (type, owner_id, subject, data, trace)
select t.name, @owner_id::text, @subject::text, @data::json, sqlc.narg(trace)::text
from postbus.event_types as t
where t.name = @type::text
returning id;

-- Recording under an id of the caller's: one event for an id, however often it is said. Nothing is made where the id is taken
-- (a transaction that is about to take it is waited for) or the type is not declared.
-- name: RecordEventAs :one
with made as (
    insert into postbus.events (id, type, owner_id, subject, data, trace)
    select @id::uuid, t.name, @owner_id::text, @subject::text, @data::json, sqlc.narg(trace)::text
    from postbus.event_types as t
    where t.name = @type::text
    on conflict (id) do nothing
    returning id
)
select
    exists (select from made) as fresh,
    exists (select from postbus.event_types as t where t.name = @type::text) as declared;

-- The promise "no cursor": every unmarked, due row is claimed in the end, whatever its seq. floor_seq only says where this
-- scan starts; the relay scans from 0 at a bounded interval and before it sleeps. Rows that another relay holds are skipped.
-- fresh says that no claim before this one came to anything, not even to a failure.
-- name: ClaimEvents :many
select
    id, seq, type, owner_id, subject, coalesce(trace, '')::text as trace, attempts,
    occurred_at, clock_timestamp()::timestamptz as claimed_at, (last_error is null)::boolean as fresh,
    coalesce(case when type = 'postbus.enqueue' then data::text end, '')::text as enqueued
from postbus.events
where
    fanned_out_at is null
    and poisoned_at is null
    and seq >= @floor_seq
    and (next_attempt_at is null or next_attempt_at <= clock_timestamp())
order by seq
limit @batch_size
for update skip locked;

-- A cheap look, outside a transaction: is there anything to claim?
-- name: AnyClaimable :one
select exists (
    select
    from postbus.events
    where
        fanned_out_at is null
        and poisoned_at is null
        and seq >= @floor_seq
        and (next_attempt_at is null or next_attempt_at <= clock_timestamp())
) as claimable;

-- Marks a whole pass at once; what it says and the jobs it names commit together. The range and the marks lead the planner
-- to the index of unmarked rows, whatever it believes of the table's size.
-- name: MarkFanned :exec
update postbus.events as e
set fanned_out_at = clock_timestamp(), fanout = m.fanout
from (select unnest(@seqs::bigint[]) as seq, unnest(@fanouts::jsonb[]) as fanout) as m
where
    e.seq = m.seq
    and e.seq between @low::bigint and @high::bigint
    and e.fanned_out_at is null
    and e.poisoned_at is null;

-- A row's own fault: counted on the row, in the transaction that holds its claim.
-- name: MarkFailed :exec
update postbus.events
set
    attempts = attempts + 1,
    last_error = left(@error::text, 2000),
    next_attempt_at = clock_timestamp() + make_interval(secs => @wait_seconds::float8),
    poisoned_at = case when attempts + 1 >= @max_failures::integer then clock_timestamp() end
where id = @id;

-- name: RequeueEvent :one
update postbus.events
set poisoned_at = null, attempts = 0, next_attempt_at = null
where id = @id and poisoned_at is not null
returning id;

-- name: EventByID :one
select
    id, seq, type, owner_id, subject, occurred_at, data, trace, fanned_out_at, fanout,
    attempts, last_error, next_attempt_at, poisoned_at
from postbus.events
where id = @id;

-- The events of jobs that begin at the same time.
-- name: EventsByID :many
select
    id, seq, type, owner_id, subject, occurred_at, data, trace, fanned_out_at, fanout,
    attempts, last_error, next_attempt_at, poisoned_at
from postbus.events
where id = any(@ids::uuid[]);

-- The events of a wide job that are still its own, in order, behind after_seq. The job names the range of their seqs.
-- name: EventsOfJob :many
select
    id, seq, type, owner_id, subject, occurred_at, data, trace, fanned_out_at, fanout,
    attempts, last_error, next_attempt_at, poisoned_at
from postbus.events
where seq between @first_seq::bigint and @last_seq::bigint and seq > @after_seq::bigint
    and fanout ->> @subscription::text = @job_id::text
order by seq
limit @most;

-- The promise "exactly one job": of two runs of one wide job, the second finds that these events have left it.
-- name: HoldEventsOfJob :many
select seq, owner_id
from postbus.events
where seq between @first_seq::bigint and @last_seq::bigint
    and (seq = any(@seqs::bigint[]) or seq >= @rest_seq::bigint)
    and fanout ->> @subscription::text = @job_id::text
order by seq
for update;

-- name: MoveEvents :exec
update postbus.events as e
set fanout = e.fanout || jsonb_build_object(@subscription::text, m.job_id)
from (select unnest(@seqs::bigint[]) as seq, unnest(@job_ids::text[]) as job_id) as m
where e.seq = m.seq;

-- name: LatestFor :one
select
    id, seq, type, owner_id, subject, occurred_at, data, trace, fanned_out_at, fanout,
    attempts, last_error, next_attempt_at, poisoned_at
from postbus.events
where owner_id = @owner_id and subject = @subject
order by seq desc
limit 1;

-- name: FanoutOf :one
select fanned_out_at, fanout
from postbus.events
where id = @id;

-- The newest events with their data, for tests.
-- name: NewestEvents :many
select id, type, owner_id, subject, data
from postbus.events
order by seq desc
limit @most;

-- A page of events without their data, newest first, from before_seq (not included) down to from_seq.
-- name: ListEvents :many
select
    id, seq, type, owner_id, subject, occurred_at, trace, fanned_out_at, fanout,
    attempts, last_error, next_attempt_at, poisoned_at
from postbus.events
where
    seq < @before_seq::bigint and seq >= @from_seq::bigint
    and (cardinality(@types::text[]) = 0 or type = any(@types))
    and (@owner_id::text = '' or owner_id = @owner_id)
    and (@subject::text = '' or subject = @subject)
    and (
        @status::text = ''
        or (@status = 'fanned' and fanned_out_at is not null)
        or (@status = 'pending' and fanned_out_at is null and poisoned_at is null)
        or (@status = 'poisoned' and poisoned_at is not null)
    )
    and (sqlc.narg(since)::timestamptz is null or occurred_at >= sqlc.narg(since))
    and (sqlc.narg(until)::timestamptz is null or occurred_at < sqlc.narg(until))
order by seq desc
limit @page_size;

-- The backlog, counted up to a cap, and how long its oldest row has waited: of the first by seq, which is drawn with the time.
-- name: Backlog :one
select
    count(*) as events,
    coalesce(extract(epoch from clock_timestamp() - (
        select min(o.occurred_at)
        from (
            select e.occurred_at from postbus.events as e
            where e.fanned_out_at is null and e.poisoned_at is null
            order by e.seq
            limit 10
        ) as o
    )), 0)::float8 as oldest_seconds
from (
    select
    from postbus.events as e
    where fanned_out_at is null and poisoned_at is null
    limit @cap
) as b;

-- name: CountPoisoned :one
select count(*) as events
from (select from postbus.events where poisoned_at is not null limit @cap) as p;

-- Walks the table once, oldest first, and says which rows are old enough to go: un-fanned and poisoned ones never are.
-- It reads every row it passes, so that the walk can end at the first batch that is too young.
-- name: RetentionBatch :many
select
    id, seq, fanout,
    coalesce(
        poisoned_at is null and fanned_out_at < clock_timestamp() - make_interval(secs => @retention_seconds::float8), false
    )::boolean as old
from postbus.events
where seq > @after_seq
order by seq
limit @batch_size;

-- Locks what retention means to remove, before it asks who still needs it: whoever holds an event in a transaction of his
-- own (HoldEvent) has the row, which is skipped here, or has told of it by the time that it is asked.
-- name: LockForRetention :many
select id
from postbus.events
where id = any(@ids::uuid[]) and fanned_out_at is not null and poisoned_at is null
for update skip locked;

-- name: DeleteEvents :many
delete from postbus.events
where id = any(@ids::uuid[])
returning id;

-- Reads an event and keeps retention from it until the transaction ends.
-- name: HoldEvent :one
select
    id, seq, type, owner_id, subject, occurred_at, data, trace, fanned_out_at, fanout,
    attempts, last_error, next_attempt_at, poisoned_at
from postbus.events
where id = @id
for key share;

-- name: NotifyFanned :exec
select pg_notify('postbus_fanned', p.payload)
from unnest(@payloads::text[]) as p (payload);

-- name: NotifyEvents :exec
select pg_notify('postbus_events', '');
