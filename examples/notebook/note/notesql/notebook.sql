-- name: LockMigration :exec
select pg_advisory_xact_lock(hashtextextended('notebook.migrate', 0));

-- How many migrations have been applied, told by a table that each of them made.
-- name: Migrated :one
select (
    (to_regclass('notebook.notes') is not null)::integer + (to_regclass('notebook.publications') is not null)::integer
    + (to_regclass('notebook.builds') is not null)::integer
)::integer as migrated;

-- name: Identity :one
select id, search_url
from notebook.identity;

-- A session's lock: it goes with its connection, so that a process that was killed does not hold it.
-- name: TryOwn :one
select pg_try_advisory_lock(hashtextextended('notebook.' || @service::text, 0)) as owned;

-- name: Disown :exec
select pg_advisory_unlock(hashtextextended('notebook.' || @service::text, 0));

-- name: SetSearchURL :exec
update notebook.identity
set search_url = @search_url;

-- The first key is kept; the answer is the one that is.
-- name: AdoptWebhookKey :one
update notebook.identity
set webhook_key = case webhook_key when '' then @key_id else webhook_key end
returning webhook_key;

-- name: EndpointID :one
select coalesce(endpoint_id::text, '')::text as endpoint_id
from notebook.identity;

-- name: SetEndpointID :exec
update notebook.identity
set endpoint_id = @endpoint_id::uuid;

-- The database's clock, by which events are dated.
-- name: Now :one
select clock_timestamp()::timestamptz as now;
