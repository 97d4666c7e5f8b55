-- name: JobGroups :many
-- The (state, kind, queue) that jobs have, found by skipping through the index from one to the next. Kinds narrow it to the
-- range from the first to the last of them.
with recursive groups as (
    select b.state, f.kind, f.queue
    from (select unnest(@states::text[])::postbus.river_job_state as state) as b
    cross join lateral (
        select j.kind, j.queue
        from postbus.river_job as j
        where j.state = b.state
            and (cardinality(@kinds::text[]) = 0 or j.kind >= (select min(k.kind) from unnest(@kinds::text[]) as k (kind)))
            and (cardinality(@kinds::text[]) = 0 or j.kind <= (select max(k.kind) from unnest(@kinds::text[]) as k (kind)))
        order by j.kind, j.queue
        limit 1
    ) as f
    union all
    select g.state, n.kind, n.queue
    from groups as g
    cross join lateral (
        select j.kind, j.queue
        from postbus.river_job as j
        where j.state = g.state and (j.kind, j.queue) > (g.kind, g.queue)
            and (cardinality(@kinds::text[]) = 0 or j.kind <= (select max(k.kind) from unnest(@kinds::text[]) as k (kind)))
        order by j.kind, j.queue
        limit 1
    ) as n
)
select g.state::text as state, g.kind::text as kind, g.queue::text as queue
from groups as g
limit @most;

-- name: LookAtGroups :one
-- How many jobs of the groups a page looks at, @look at most, and the smallest id among them.
select count(*) as n, coalesce(min(l.id), 0)::bigint as floor
from (
    select f.id
    from (
        select unnest(@states::text[])::postbus.river_job_state as state, unnest(@kinds::text[]) as kind, unnest(@queues::text[]) as queue
    ) as g
    cross join lateral (
        select j.id
        from postbus.river_job as j
        where j.state = g.state and j.kind = g.kind and j.queue = g.queue
            and (sqlc.arg(below)::bigint = 0 or j.id < sqlc.arg(below)::bigint)
            and (sqlc.arg(from_id)::bigint = 0 or j.id >= sqlc.arg(from_id)::bigint)
            and (not sqlc.arg(skip_waiting)::boolean or not j.id = any(sqlc.arg(waiting)::bigint[]))
            and (not sqlc.arg(only_waiting)::boolean or g.state <> 'available' or j.id = any(sqlc.arg(waiting)::bigint[]))
        order by j.id desc
        limit @look::int
    ) as f
    order by f.id desc
    limit @look::int
) as l;

-- name: ListGroups :many
-- ListJobs of groups: each is read from its own end of the index, down to @from_id.
select
    f.id, f.kind, f.queue, f.state::text as state, f.args, f.metadata, f.attempt, f.max_attempts, f.created_at,
    f.scheduled_at, f.attempted_at, f.finalized_at, f.errors,
    coalesce(f.attempted_by[cardinality(f.attempted_by)], '')::text as instance,
    coalesce(f.state = 'available' and cardinality(f.errors) > 0 and f.scheduled_at > statement_timestamp(), false)::boolean as waits
from (
    select unnest(@states::text[])::postbus.river_job_state as state, unnest(@kinds::text[]) as kind, unnest(@queues::text[]) as queue
) as g
cross join lateral (
    select
        j.id, j.kind, j.queue, j.state, j.args, j.metadata, j.attempt, j.max_attempts, j.created_at,
        j.scheduled_at, j.attempted_at, j.finalized_at, j.errors, j.attempted_by
    from postbus.river_job as j
    where j.state = g.state and j.kind = g.kind and j.queue = g.queue
        and (sqlc.arg(below)::bigint = 0 or j.id < sqlc.arg(below)::bigint)
        and (sqlc.arg(from_id)::bigint = 0 or j.id >= sqlc.arg(from_id)::bigint)
        and (not sqlc.arg(skip_waiting)::boolean or not j.id = any(sqlc.arg(waiting)::bigint[]))
        and (not sqlc.arg(only_waiting)::boolean or g.state <> 'available' or j.id = any(sqlc.arg(waiting)::bigint[]))
        and (sqlc.arg(args)::text = '' or j.args @> nullif(sqlc.arg(args)::text, '')::jsonb)
        and (sqlc.arg(after)::timestamptz = '0001-01-01 00:00:00+00'::timestamptz or j.created_at >= sqlc.arg(after)::timestamptz)
        and (sqlc.arg(before)::timestamptz = '0001-01-01 00:00:00+00'::timestamptz or j.created_at < sqlc.arg(before)::timestamptz)
    order by j.id desc
    limit @most::int
) as f
order by f.id desc
limit @most::int;

-- name: LookAtJobs :one
-- LookAtGroups of all jobs, of an owner's, or of those that nobody has acknowledged.
select count(*) as n, coalesce(min(l.id), 0)::bigint as floor
from (
    select j.id
    from postbus.river_job as j
    where (sqlc.arg(owner)::text = '' or (j.metadata ? 'owner' and j.metadata ->> 'owner' = sqlc.arg(owner)::text))
        and (not sqlc.arg(unacked)::boolean or (j.state = 'discarded' and not j.metadata ? 'acknowledged_at'))
        and (sqlc.arg(below)::bigint = 0 or j.id < sqlc.arg(below)::bigint)
        and (sqlc.arg(from_id)::bigint = 0 or j.id >= sqlc.arg(from_id)::bigint)
    order by j.id desc
    limit @look
) as l;

-- name: FindByArgs :many
-- Jobs whose args contain something rare, in no order: the index answers it, and @look bounds what is read.
select j.id
from postbus.river_job as j
where j.args @> sqlc.arg(args)::text::jsonb
limit @look;

-- name: CountOpen :many
-- Unfinished and discarded jobs of each state, kind and queue, counted up to @most. It walks the index in strides of @most
-- entries: one stride counts many small groups, and whichever the last stride cut off begins the next.
with recursive walk as (
    select b.state, w.kinds, w.queues, w.counts, w.entries, w.size
    from (
        select unnest(array['available', 'discarded', 'pending', 'retryable', 'running', 'scheduled'])::postbus.river_job_state as state
    ) as b
    cross join lateral (
        select
            array_agg(g.kind order by g.kind, g.queue) as kinds, array_agg(g.queue order by g.kind, g.queue) as queues,
            array_agg(g.n order by g.kind, g.queue) as counts, sum(g.n)::int as entries, count(*)::int as size
        from (
            select e.kind, e.queue, count(*) as n
            from (
                select j.kind, j.queue
                from postbus.river_job as j
                where j.state = b.state
                order by j.kind, j.queue
                limit @most::int
            ) as e
            group by e.kind, e.queue
        ) as g
    ) as w
    where w.entries > 0
    union all
    select k.state, w.kinds, w.queues, w.counts, w.entries, w.size
    from walk as k
    cross join lateral (
        select
            array_agg(g.kind order by g.kind, g.queue) as kinds, array_agg(g.queue order by g.kind, g.queue) as queues,
            array_agg(g.n order by g.kind, g.queue) as counts, sum(g.n)::int as entries, count(*)::int as size
        from (
            select e.kind, e.queue, count(*) as n
            from (
                select j.kind, j.queue
                from postbus.river_job as j
                where j.state = k.state
                    and (j.kind, j.queue) > (k.kinds[greatest(k.size - 1, 1)], k.queues[greatest(k.size - 1, 1)])
                order by j.kind, j.queue
                limit @most::int
            ) as e
            group by e.kind, e.queue
        ) as g
    ) as w
    where k.entries = @most::int and w.entries > 0
)
select k.state::text as state, g.kind::text as kind, g.n::bigint as n
from walk as k
cross join lateral (
    select unnest(k.kinds) as kind, unnest(k.counts) as n, generate_series(1, k.size) as place
) as g
where g.place <= case when k.entries < @most::int or k.size = 1 then k.size else k.size - 1 end;
