-- A session that was ended has no data.
-- name: FindSession :one
select s.data
from postbus.sessions as s
where s.token = @token and s.expires_at > clock_timestamp() and s.data <> '';

-- The promise "logging out ends the session": a request that was under way when it ended does not bring it back.
-- name: KeepSession :exec
insert into postbus.sessions as s (token, data, expires_at)
values (@token, @data, @expires_at)
on conflict (token) do update set data = excluded.data, expires_at = excluded.expires_at
where s.data <> '';

-- It stays as one that was ended for longer than any session lasts, a live stream that began with it included.
-- name: EndSession :exec
update postbus.sessions as s
set data = '', expires_at = clock_timestamp() + interval '25 hours'
where s.token = @token;

-- name: EndOldSessions :exec
-- At most a thousand at a time, so that no login waits for it.
delete from postbus.sessions as s
where s.token in (select o.token from postbus.sessions as o where o.expires_at < clock_timestamp() order by o.expires_at limit 1000);
