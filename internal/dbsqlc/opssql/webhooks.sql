-- What disabling or deleting an endpoint would discard, counted up to a cap. Those that stand behind have an index of their own.
-- name: CountWaiting :one
select count(*)
from (
    (
        select d.id from postbus.webhook_deliveries as d
        where
            d.endpoint_id = @endpoint_id and d.state = 'pending' and not d.behind
            and not exists (select from postbus.webhook_slots as s where s.endpoint_id = d.endpoint_id and s.delivery_id = d.id)
        limit @cap
    )
    union all
    (
        select d.id from postbus.webhook_deliveries as d
        where d.endpoint_id = @endpoint_id and d.state = 'pending' and d.line is not null and d.behind
        limit @cap
    )
) as w;

-- What would be sent again of an endpoint's discarded deliveries, counted up to a cap.
-- name: CountRedeliverable :one
select count(*)
from (
    select d.id
    from postbus.webhook_deliveries as d
    join postbus.events as e on e.id = d.event_id
    join postbus.event_types as t on t.name = d.event_type and (t.exposure = 'webhook' or d.origin = 'test')
    where d.endpoint_id = @endpoint_id and d.state = 'discarded' and d.acknowledged_at is null
    limit @cap
) as r;
