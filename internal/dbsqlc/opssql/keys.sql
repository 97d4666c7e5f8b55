-- The shared key of a name; the first who asks makes it.
-- name: MakeKey :exec
insert into postbus.shared_keys (name, value) values (@name, @value)
on conflict (name) do nothing;

-- name: SharedKey :one
select value from postbus.shared_keys where name = @name;
