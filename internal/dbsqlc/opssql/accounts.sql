-- No row where the name is taken.
-- name: CreateAccount :one
insert into postbus.accounts (name, password, scopes, owner_id)
values (@name, @password, @scopes, @owner_id)
on conflict (name) do nothing
returning id, name, scopes, owner_id, created_at, last_login_at, disabled_at;

-- A page by name; after is the keyset ('' on the first page). It never answers a password.
-- name: ListAccounts :many
select id, name, scopes, owner_id, created_at, last_login_at, disabled_at
from postbus.accounts
where name > @after
order by name
limit @page_size;

-- name: GetAccount :one
select id, name, scopes, owner_id, created_at, last_login_at, disabled_at
from postbus.accounts
where id = @id;

-- name: SetPassword :one
update postbus.accounts set password = @password
where id = @id
returning id, name, scopes, owner_id, created_at, last_login_at, disabled_at;

-- Disabling again keeps the first moment; enabling clears it.
-- name: SetDisabled :one
update postbus.accounts set disabled_at = case when @disabled::boolean then coalesce(disabled_at, clock_timestamp()) end
where id = @id
returning id, name, scopes, owner_id, created_at, last_login_at, disabled_at;

-- name: AccountToLogIn :one
select id, password, scopes, owner_id, (disabled_at is not null)::boolean as disabled
from postbus.accounts
where name = @name;

-- The login is good, and still is: no row where the account was disabled, or its password set, since it was checked. rehashed is the
-- same password's hash under the parameters of now, or the old hash.
-- name: LoggedIn :execrows
update postbus.accounts set last_login_at = clock_timestamp(), password = @rehashed
where id = @id and password = @password and disabled_at is null;
