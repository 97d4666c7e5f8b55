-- Keeps the hash of a token and not the token. At most one of expires_at and lasts_seconds is given; neither is for ever.
-- name: CreateToken :one
insert into postbus.tokens (prefix, hash, name, scopes, owner_id, created_by, expires_at)
values (
    @prefix, @hash, @name, @scopes, @owner_id, @created_by,
    coalesce(sqlc.narg(expires_at)::timestamptz, clock_timestamp() + make_interval(secs => sqlc.narg(lasts_seconds)::float8))
)
returning id, prefix, name, scopes, owner_id, created_at, created_by, expires_at, last_used_at, revoked_at;

-- A page, newest first; before_at and before_id are the keyset (null on the first page). It never answers a hash.
-- name: ListTokens :many
select id, prefix, name, scopes, owner_id, created_at, created_by, expires_at, last_used_at, revoked_at
from postbus.tokens
where
    sqlc.narg(before_at)::timestamptz is null
    or (created_at, id) < (sqlc.narg(before_at)::timestamptz, sqlc.narg(before_id)::uuid)
order by created_at desc, id desc
limit @page_size;

-- name: GetToken :one
select id, prefix, name, scopes, owner_id, created_at, created_by, expires_at, last_used_at, revoked_at
from postbus.tokens
where id = @id;

-- Revoked once is revoked for good, at the first moment.
-- name: RevokeToken :one
update postbus.tokens set revoked_at = coalesce(revoked_at, clock_timestamp())
where id = @id
returning id, prefix, name, scopes, owner_id, created_at, created_by, expires_at, last_used_at, revoked_at;

-- What a token may do; no row where it is unknown, expired or revoked: callers are not told which. good_for is how many seconds it has
-- left, at most at_most; touch is whether its last use is to be written.
-- name: UseToken :one
select
    id,
    prefix,
    scopes,
    owner_id,
    least(extract(epoch from expires_at - clock_timestamp())::float8, @at_most::float8)::float8 as good_for, -- passes over null
    (last_used_at is null or last_used_at <= clock_timestamp() - interval '1 minute')::boolean as touch
from postbus.tokens
where
    hash = @hash
    and revoked_at is null
    and (expires_at is null or expires_at > clock_timestamp());

-- The last use is written at most once a minute, whatever the number of processes.
-- name: TouchToken :exec
update postbus.tokens set last_used_at = clock_timestamp()
where id = @id and (last_used_at is null or last_used_at <= clock_timestamp() - interval '1 minute');

-- Held to the transaction's end, so that of two processes that boot at once one makes the first token.
-- name: LockBootstrap :exec
select pg_advisory_xact_lock(hashtextextended('postbus bootstrap', 0));

-- Whether anybody could ever call: revoked and disabled ones count, or revoking the last token would hand out another.
-- name: AnyCredential :one
select (exists (select from postbus.tokens) or exists (select from postbus.accounts))::boolean;
