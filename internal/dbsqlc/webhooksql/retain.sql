-- Events that a delivery still needs: one that is pending, or one that was discarded and may be sent again, until somebody
-- has taken note of it or the grace is over.
-- name: HeldEvents :many
select distinct event_id
from postbus.webhook_deliveries
where
    event_id = any(@event_ids::uuid[])
    and (
        state = 'pending'
        or (
            state = 'discarded' and acknowledged_at is null
            and settled_at > clock_timestamp() - make_interval(secs => @grace_seconds::float8)
        )
    );

-- name: DeleteAttemptsOf :exec
delete from postbus.webhook_attempts as a
using postbus.webhook_deliveries as d
where d.event_id = any(@event_ids::uuid[]) and a.delivery_id = d.id;

-- name: DeleteDeliveriesOf :exec
delete from postbus.webhook_deliveries where event_id = any(@event_ids::uuid[]);

-- name: DeleteFanoutsOf :exec
delete from postbus.webhook_fanouts where event_id = any(@event_ids::uuid[]);

-- Removes those of a batch that are old enough, and says where the batch ended. Attempts lie in the order of their
-- deliveries, which is nearly that of time: a walk from the start ends at the first batch in which none is old.
-- name: PruneAttempts :one
with batch as (
    select delivery_id, n, attempted_at < clock_timestamp() - make_interval(secs => @keep_seconds::float8) as old
    from postbus.webhook_attempts
    where (delivery_id, n) > (@after_delivery::bigint, @after_n::integer)
    order by delivery_id, n
    limit @batch_size
),
doomed as (
    select a.delivery_id, a.n
    from batch as b
    join postbus.webhook_attempts as a on a.delivery_id = b.delivery_id and a.n = b.n
    where b.old
    for update of a skip locked
),
gone as (
    delete from postbus.webhook_attempts as a
    using doomed as d
    where a.delivery_id = d.delivery_id and a.n = d.n
    returning a.n
),
last_one as (
    select delivery_id, n from batch order by delivery_id desc, n desc limit 1
)
select
    coalesce((select l.delivery_id from last_one as l), 0)::bigint as last_delivery,
    coalesce((select l.n from last_one as l), 0)::integer as last_n,
    (select count(*) from batch as b where b.old)::bigint as old,
    (select count(*) from gone)::bigint as removed;
