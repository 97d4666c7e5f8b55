-- name: NoteServer :exec
-- Says that a process on this database can send, as of now.
insert into postbus.settings (name, value) values ('mail_server_seen', clock_timestamp()::text)
on conflict (name) do update set value = excluded.value;

-- name: ServerSeen :one
-- Whether a process that can send was seen within the time.
select exists (
    select from postbus.settings as s
    where s.name = 'mail_server_seen' and s.value::timestamptz > clock_timestamp() - make_interval(secs => @within_seconds::float8)
) as seen;
