-- Declares a type that belongs to no application, as a caller in SQL would.
-- name: DeclareType :exec
select postbus.declare_type(@name::text, @description::text, @subject::text, @exposure::text);

-- The newest attempts at each of the deliveries, without what the receiver answered.
-- name: NewestAttempts :many
select a.delivery_id, a.n, a.attempted_at, a.status, a.error
from (select unnest(@delivery_ids::bigint[]) as id) as d
cross join lateral (
    select t.delivery_id, t.n, t.attempted_at, t.status, t.error
    from postbus.webhook_attempts as t
    where t.delivery_id = d.id
    order by t.n desc
    limit @most_each
) as a
order by a.delivery_id desc, a.n desc;
