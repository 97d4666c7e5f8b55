-- name: CountQueues :many
-- The queues that are known or hold unfinished jobs, with those jobs counted up to @most per state.
with recursive held as (
    (
        select j.state, j.queue
        from postbus.river_job as j
        where j.state in ('available', 'pending', 'retryable', 'running', 'scheduled')
        order by j.state, j.queue
        limit 1
    )
    union all
    select n.state, n.queue
    from held as h
    cross join lateral (
        select j.state, j.queue
        from postbus.river_job as j
        where j.state in ('available', 'pending', 'retryable', 'running', 'scheduled')
            and (j.state, j.queue) > (h.state, h.queue)
        order by j.state, j.queue
        limit 1
    ) as n
)
select q.name::text as name, (r.paused_at is not null)::boolean as paused, coalesce(h.state::text, '')::text as state,
    coalesce(c.n, 0)::bigint as n
from (
    select held.queue as name from held
    union
    select river_queue.name from postbus.river_queue
) as q
left join postbus.river_queue as r on r.name = q.name
left join held as h on h.queue = q.name
left join lateral (
    select count(*) as n
    from (
        select from postbus.river_job as j
        where j.state = h.state and j.queue = h.queue
            and j.state in ('available', 'pending', 'retryable', 'running', 'scheduled')
        limit @most
    ) as m
) as c on true
order by q.name;

-- name: PauseQueue :execrows
-- Stops every process from fetching; one that starts later finds the mark. Only a queue that is known, or holds a job.
with known as (
    select from postbus.river_queue as q where q.name = @name::text
    union all
    (select from postbus.river_job as j where j.queue = @name::text and j.state = 'available' limit 1)
    union all
    (select from postbus.river_job as j where j.queue = @name::text and j.state = 'running' limit 1)
    union all
    (select from postbus.river_job as j where j.queue = @name::text and j.state in ('scheduled', 'retryable', 'pending') limit 1)
)
insert into postbus.river_queue as q (name, paused_at, updated_at)
select @name::text, clock_timestamp(), clock_timestamp()
where exists (select from known)
on conflict (name) do update
set paused_at = coalesce(q.paused_at, excluded.paused_at), updated_at = excluded.updated_at;

-- name: ResumeQueue :execrows
update postbus.river_queue as q
set paused_at = null, updated_at = clock_timestamp()
where q.name = @name;

-- name: TellQueue :exec
-- Tells the producers of a queue to pause or resume.
select pg_notify('postbus.river_control', json_build_object('action', @action::text, 'queue', @queue::text)::text);

-- name: KeepQueues :exec
-- Keeps the marks of paused queues from being cleaned while nobody works them.
update postbus.river_queue
set updated_at = clock_timestamp()
where paused_at is not null and updated_at < statement_timestamp() - interval '1 hour';

-- name: ListPausedQueues :many
select q.name from postbus.river_queue as q where q.paused_at is not null;

-- name: PauseOwnQueue :execrows
-- PauseQueue for a queue that this process works on, and which is known by that.
insert into postbus.river_queue as q (name, paused_at, updated_at)
values (@name, clock_timestamp(), clock_timestamp())
on conflict (name) do update
set paused_at = coalesce(q.paused_at, excluded.paused_at), updated_at = excluded.updated_at;

-- name: DefaultIsolation :one
select current_setting('default_transaction_isolation')::text;
