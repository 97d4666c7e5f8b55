-- A look is one process's: no row comes back where somebody looked for the owner at the same alerts a moment ago. looked_at is
-- before anything is read.
-- name: ClaimAlertLook :one
insert into postbus.alert_looks as l (owner_id, watches)
values (@owner_id, @watches)
on conflict (owner_id, watches) do update set looked_at = clock_timestamp()
where l.looked_at <= clock_timestamp() - make_interval(secs => @fresh_seconds::float8)
returning looked_at;

-- The open ones, locked: who looks at the same time waits here.
-- name: OpenAlerts :many
select id, name, about
from postbus.alerts
where owner_id = @owner_id and cleared_at is null
order by name, about
for update;

-- The promise "raised once": no row comes back where it is open already, or where it was cleared after this look began.
-- name: RaiseAlert :one
insert into postbus.alerts (owner_id, name, about, count, message, way_out)
select @owner_id::text, @name::text, @about::text, @count::bigint, @message::text, @way_out::text
where not exists (
    select from postbus.alerts as a
    where a.owner_id = @owner_id and a.name = @name and a.about = @about and a.cleared_at > @looked_at::timestamptz
)
on conflict (owner_id, name, about) where cleared_at is null do nothing
returning raised_at;

-- name: SeeAlert :exec
update postbus.alerts
set
    count = @count, message = @message, way_out = @way_out,
    seen_at = greatest(seen_at, @looked_at::timestamptz), absent_since = null
where id = @id;

-- A look that began before the alert was last seen says nothing.
-- name: MissAlert :exec
update postbus.alerts set absent_since = @looked_at::timestamptz
where id = @id and absent_since is null and seen_at < @looked_at;

-- The promise "cleared when it was absent in two looks in a row": a row comes back where the first of them lies far enough back.
-- name: ClearAlert :one
update postbus.alerts set cleared_at = clock_timestamp()
where
    id = @id
    and cleared_at is null
    and seen_at < @looked_at::timestamptz
    and absent_since < @absent_before::timestamptz
returning name, about, count, message, way_out, raised_at, cleared_at;

-- name: AlertsRaisedAt :many
select name, min(raised_at)::timestamptz as raised_at
from postbus.alerts
where cleared_at is null
group by name;

-- A page, newest first; before is the keyset (0 on the first page).
-- name: ListAlerts :many
select id, owner_id, name, about, count, message, way_out, raised_at, seen_at, cleared_at
from postbus.alerts
where @before::bigint = 0 or id < @before
order by id desc
limit @page_size;

-- What was cleared long ago, and what nobody has looked at for a day: its watcher is gone.
-- name: PruneAlerts :exec
delete from postbus.alerts
where
    cleared_at < clock_timestamp() - make_interval(secs => sqlc.arg(keep_seconds)::float8)
    or (cleared_at is null and greatest(seen_at, absent_since) < clock_timestamp() - interval '1 day');
