-- name: DatabaseNow :one
select clock_timestamp()::timestamptz as now;

-- name: InsertReplay :one
insert into postbus.replays (target, name, owner_id, types, since, until, options)
values (@target, @name, @owner_id, @types, sqlc.narg(since), @until, @options)
returning
    id, target, name, owner_id, types, since, until, options, job_id, from_seq, after_seq, until_seq, fanned_before,
    matched, queued, state, error, created_at, updated_at, finished_at;

-- name: SetReplayJob :exec
update postbus.replays set job_id = @job_id::text where id = @id;

-- name: ReplayByID :one
select
    id, target, name, owner_id, types, since, until, options, job_id, from_seq, after_seq, until_seq, fanned_before,
    matched, queued, state, error, created_at, updated_at, finished_at
from postbus.replays
where id = @id;

-- Two runs of one job (one given up for dead, and the next) must not do a batch both: the row is theirs by turns.
-- name: LockReplay :one
select
    id, target, name, owner_id, types, since, until, options, job_id, from_seq, after_seq, until_seq, fanned_before,
    matched, queued, state, error, created_at, updated_at, finished_at
from postbus.replays
where id = @id
for update;

-- A page of replays, newest first; the keyset is the last row's created_at and id.
-- name: ListReplays :many
select
    id, target, name, owner_id, types, since, until, options, job_id, from_seq, after_seq, until_seq, fanned_before,
    matched, queued, state, error, created_at, updated_at, finished_at
from postbus.replays
where
    (@target::text = '' or target = @target)
    and (@name::text = '' or name = @name)
    and (@owner_id::text = '' or owner_id = @owner_id)
    and (@state::text = '' or state = @state)
    and (sqlc.narg(before)::timestamptz is null or (created_at, id) < (sqlc.narg(before), @before_id::uuid))
order by created_at desc, id desc
limit @page_size;

-- A failed one ends too: its job may be retried by hand and would go on.
-- name: CancelReplay :exec
update postbus.replays
set state = 'cancelled', updated_at = clock_timestamp(), finished_at = clock_timestamp()
where id = @id and state in ('running', 'failed');

-- Says which events are the history. What was fanned out to a subscription after the replay was asked for had its job; an
-- endpoint is found by a later job, so for it what was fanned out before now counts.
-- name: BeginReplay :one
update postbus.replays
set
    from_seq = @from_seq, after_seq = @from_seq, until_seq = @until_seq::bigint, updated_at = clock_timestamp(),
    fanned_before = case when target = 'subscription' then created_at else clock_timestamp() end
where id = @id
returning
    id, target, name, owner_id, types, since, until, options, job_id, from_seq, after_seq, until_seq, fanned_before,
    matched, queued, state, error, created_at, updated_at, finished_at;

-- name: MoveReplay :exec
update postbus.replays
set
    after_seq = @after_seq, matched = matched + @matched, queued = queued + @queued, state = @state, error = null,
    updated_at = clock_timestamp(), finished_at = case when @state <> 'running' then clock_timestamp() end
where id = @id;

-- name: FailReplay :exec
update postbus.replays
set
    error = left(@error::text, 2000), state = @state, updated_at = clock_timestamp(),
    finished_at = case when @state <> 'running' then clock_timestamp() end
where id = @id and state in ('running', 'failed');

-- name: PruneReplays :exec
delete from postbus.replays where finished_at < clock_timestamp() - make_interval(secs => @keep_seconds::float8);

-- Transactions that have claimed events and read who is told of them. Those of them that read before a subscription was
-- there mark events as fanned out that it did not get.
-- name: FanOutsUnderWay :many
select l.virtualtransaction::text as transaction
from pg_catalog.pg_locks as l
where
    l.locktype = 'relation' and l.granted
    and l.database = (select d.oid from pg_catalog.pg_database as d where d.datname = current_database())
    and (
        (l.relation = 'postbus.events'::regclass and l.mode = 'RowShareLock')
        or (l.relation = 'postbus.subscriptions'::regclass and l.mode = 'AccessShareLock')
    )
group by l.virtualtransaction
having count(distinct l.relation) = 2;

-- name: EventBounds :one
select coalesce(min(seq), 0)::bigint as low, coalesce(max(seq), 0)::bigint as high from postbus.events;

-- name: NextEvent :one
select seq, occurred_at from postbus.events where seq > @after_seq order by seq limit 1;

-- Where a batch ends at the latest, so that a filter that few events pass does not make one read the whole table; 0 where
-- nothing is left.
-- name: ReplayWindow :one
select coalesce(max(w.seq), 0)::bigint as seq
from (
    select e.seq from postbus.events as e where e.seq > @after_seq and e.seq <= @until_seq order by e.seq limit @size
) as w;

-- The next events of a replay, kept from retention until its batch is committed. Data is left out: it may be 256 KiB each.
-- What was fanned out since the replay was asked for is history only for a subscription that the relay did not yet know.
-- name: ReplayBatch :many
select id, seq, type, owner_id, subject, occurred_at, coalesce(trace, '')::text as trace
from postbus.events
where
    seq > @after_seq
    and seq <= @until_seq
    and fanned_out_at is not null
    and (fanned_out_at <= @fanned_before or (@subscription::text <> '' and not jsonb_exists(fanout, @subscription)))
    and not (@missed_only::boolean and jsonb_exists(fanout, @subscription))
    and (@owner_id::text = '' or owner_id = @owner_id)
    and (
        cardinality(@types::text[] || @prefixes::text[]) = 0
        or type = any(@types)
        or exists (select from unnest(@prefixes) as p (prefix) where starts_with(type, p.prefix))
    )
    and (sqlc.narg(since)::timestamptz is null or occurred_at >= sqlc.narg(since))
    and occurred_at < @until
order by seq
limit @batch_size
for key share;

-- name: NoteReplayed :exec
insert into postbus.replayed (event_id, job_id)
select r.event_id, r.job_id
from (select unnest(@event_ids::uuid[]) as event_id, unnest(@job_ids::text[]) as job_id) as r
on conflict (event_id, job_id) do nothing;

-- name: ReplayedJobs :many
select event_id, job_id from postbus.replayed where event_id = any(@event_ids::uuid[]);

-- name: ForgetReplayed :exec
delete from postbus.replayed where event_id = any(@event_ids::uuid[]);
