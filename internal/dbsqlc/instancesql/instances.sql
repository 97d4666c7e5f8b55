-- name: Beat :one
-- Says that the instance lives, and answers for how long it had not said so (0 the first time).
with former as (
    select f.seen_at from postbus.instances as f where f.id = @id
)
insert into postbus.instances as i (id, app, version, host, kinds)
values (@id, @app, @version, @host, @kinds)
on conflict (id) do update
set seen_at = clock_timestamp(), kinds = excluded.kinds, version = excluded.version
returning coalesce((
    select extract(epoch from clock_timestamp() - former.seen_at) * 1000000 from former
), 0)::bigint as silent_us;

-- name: Leave :exec
delete from postbus.instances where id = @id;

-- name: ForgetInstances :exec
-- Removes those that died a day ago.
delete from postbus.instances where seen_at < clock_timestamp() - interval '1 day';
