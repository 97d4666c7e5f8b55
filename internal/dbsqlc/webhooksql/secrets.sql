-- name: InsertSecret :exec
insert into postbus.webhook_secrets (id, endpoint_id, algorithm, key_id, sealed, public_key)
values (@id, @endpoint_id, @algorithm, @key_id, @sealed, sqlc.narg(public_key));

-- The previous secrets of the algorithm end after the overlap, or when they would have ended anyway. Answers the overlap's end.
-- name: ExpireSecrets :one
with ends as (
    select clock_timestamp() + make_interval(secs => @overlap_seconds::float8) as at
),
expired as (
    update postbus.webhook_secrets as s
    set expires_at = least(s.expires_at, e.at)
    from ends as e
    where s.endpoint_id = @endpoint_id and s.algorithm = @algorithm
)
select e.at::timestamptz as at from ends as e;

-- name: DropExpiredSecrets :exec
delete from postbus.webhook_secrets where endpoint_id = @endpoint_id and expires_at <= clock_timestamp();

-- name: CountLiveSecrets :one
select
    count(*) as live,
    coalesce(extract(epoch from min(expires_at) - clock_timestamp()), 0)::float8 as seconds_to_first_end
from postbus.webhook_secrets
where endpoint_id = @endpoint_id and (expires_at is null or expires_at > clock_timestamp());

-- name: TouchEndpoint :exec
update postbus.webhook_endpoints set version = version + 1, updated_at = clock_timestamp() where id = @id;

-- name: DeleteSecrets :exec
delete from postbus.webhook_secrets where endpoint_id = @endpoint_id;

-- name: PublicKeysOf :many
select coalesce(public_key, '')::text as public_key, created_at, expires_at
from postbus.webhook_secrets
where
    endpoint_id = @endpoint_id and public_key is not null
    and (expires_at is null or expires_at > clock_timestamp())
order by created_at desc, id;

-- What a lane remembers of its endpoint, in one statement and so of one moment: the newest secret comes first. An endpoint
-- without a secret is one row with a null secret_id.
-- name: LoadTarget :many
select
    e.version, e.url, coalesce(e.headers_key, '')::text as headers_key, e.headers,
    coalesce(s.id::text, '')::text as secret_id, coalesce(s.key_id, '')::text as key_id, s.sealed, s.expires_at
from postbus.webhook_endpoints as e
left join postbus.webhook_secrets as s on s.endpoint_id = e.id
where e.id = @id
order by s.created_at desc, s.id;

-- One sealed thing for each key, by which a key shows that it is the right one. A null secret_id says that it is headers.
-- name: SealedSamples :many
(
    select distinct on (s.key_id) s.key_id::text as key_id, s.endpoint_id, s.id::text as secret_id, s.sealed
    from postbus.webhook_secrets as s
    order by s.key_id
)
union all
(
    select distinct on (e.headers_key) e.headers_key::text, e.id, ''::text, e.headers
    from postbus.webhook_endpoints as e
    where e.headers is not null
    order by e.headers_key
);

-- name: CountAllEndpoints :one
select count(*) from postbus.webhook_endpoints;

-- name: SecretsToReseal :many
select id, endpoint_id, key_id, sealed
from postbus.webhook_secrets
where key_id <> @current and (sqlc.narg(after)::uuid is null or id > sqlc.narg(after))
order by id
limit 100
for update skip locked;

-- name: ResealSecret :exec
update postbus.webhook_secrets set key_id = @key_id, sealed = @sealed where id = @id;

-- name: HeadersToReseal :many
select id, coalesce(headers_key, '')::text as headers_key, headers
from postbus.webhook_endpoints
where headers_key <> @current::text and headers is not null and (sqlc.narg(after)::uuid is null or id > sqlc.narg(after))
order by id
limit 100
for no key update skip locked;

-- name: ResealHeaders :exec
update postbus.webhook_endpoints set headers_key = @key_id::text, headers = @sealed where id = @id;
