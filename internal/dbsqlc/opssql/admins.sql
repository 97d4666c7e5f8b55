-- Held to the transaction's end: of two that take away an admin at once, the second sees what the first did.
-- name: LockAdmins :exec
select pg_advisory_xact_lock(hashtextextended('postbus admins', 0));

-- The promise "never the last": whether another token or account may do everything now.
-- name: AnyOtherAdmin :one
select (
    exists (
        select from postbus.tokens
        where
            id <> @id::uuid
            and 'admin' = any(scopes)
            and revoked_at is null
            and (expires_at is null or expires_at > clock_timestamp())
    )
    or exists (
        select from postbus.accounts
        where id <> @id::uuid and 'admin' = any(scopes) and disabled_at is null
    )
)::boolean as other;
