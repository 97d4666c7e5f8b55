-- name: InsertAct :one
insert into postbus.bulk_acts (act, filter, owner_id, who, matched, about)
values (@act, @filter, @owner_id, @who, @matched, @about)
returning
    id, act, filter, owner_id, who, state, matched, about, seen, changed, cursor, job_id, last_error, created_at, started_at,
    updated_at, finished_at;

-- name: SetActJob :exec
update postbus.bulk_acts set job_id = @job_id::text where id = @id;

-- name: ActByID :one
select
    id, act, filter, owner_id, who, state, matched, about, seen, changed, cursor, job_id, last_error, created_at, started_at,
    updated_at, finished_at
from postbus.bulk_acts
where id = @id;

-- Two runs of one job (one given up for dead, and the next) must not do a chunk both: the row is theirs by turns. A stop waits
-- here for the chunk that is under way, and nothing is done after it.
-- name: LockAct :one
select
    id, act, filter, owner_id, who, state, matched, about, seen, changed, cursor, job_id, last_error, created_at, started_at,
    updated_at, finished_at
from postbus.bulk_acts
where id = @id
for update;

-- A page of acts, newest first; the keyset is the last row's created_at and id.
-- name: ListActs :many
select
    id, act, filter, owner_id, who, state, matched, about, seen, changed, cursor, job_id, last_error, created_at, started_at,
    updated_at, finished_at
from postbus.bulk_acts
where
    (@owner_id::text = '' or owner_id = @owner_id)
    and (@act::text = '' or act = @act)
    and (@state::text = '' or state = @state)
    and (sqlc.narg(before)::timestamptz is null or (created_at, id) < (sqlc.narg(before), @before_id::uuid))
order by created_at desc, id desc
limit @page_size;

-- Notes what there is to do, as the first chunk begins.
-- name: BeginAct :exec
update postbus.bulk_acts
set matched = @matched, about = @about, started_at = clock_timestamp(), updated_at = clock_timestamp()
where id = @id;

-- The progress of one chunk, in its transaction.
-- name: MoveAct :exec
update postbus.bulk_acts
set
    seen = seen + @seen, changed = changed + @changed, cursor = @cursor, state = @state, last_error = null,
    updated_at = clock_timestamp(), finished_at = case when @state <> 'running' then clock_timestamp() end
where id = @id;

-- What has ended well or by hand stays so.
-- name: SetBack :exec
update postbus.bulk_acts
set
    state = @state, last_error = left(@error::text, 2000), updated_at = clock_timestamp(),
    finished_at = case when @state in ('failed', 'cancelled') then clock_timestamp() end
where id = @id and state in ('pending', 'running', 'failed');

-- A failed one ends too: its job may be retried by hand and would go on.
-- name: StopAct :exec
update postbus.bulk_acts
set state = 'cancelled', updated_at = clock_timestamp(), finished_at = clock_timestamp()
where id = @id and state in ('pending', 'running', 'failed');

-- Acts that have not moved for a while: their job may be gone.
-- name: StillActs :many
select id, coalesce(job_id, '')::text as job_id
from postbus.bulk_acts
where state in ('pending', 'running') and updated_at < clock_timestamp() - make_interval(secs => @still_seconds::float8)
order by created_at, id
limit 1000;

-- name: PruneActs :exec
delete from postbus.bulk_acts where finished_at < clock_timestamp() - make_interval(secs => @keep_seconds::float8);
