-- The account's login still stands: it is enabled and has the password that it had.
-- name: AccountStanding :one
select name, password, scopes, owner_id
from postbus.accounts
where name = @name and disabled_at is null;

-- name: MakeLoginLink :one
-- No row where there is no such account, or it is disabled.
insert into postbus.login_links (hash, account, expires_at)
select @hash::bytea, a.name, clock_timestamp() + make_interval(secs => @valid_seconds::float8)
from postbus.accounts as a
where a.name = @account and a.disabled_at is null
returning expires_at;

-- name: EndOldLinks :exec
delete from postbus.login_links where expires_at < clock_timestamp();

-- A link logs in once: whoever deletes it has it.
-- name: TakeLoginLink :one
delete from postbus.login_links where hash = @hash and expires_at > clock_timestamp()
returning account;
