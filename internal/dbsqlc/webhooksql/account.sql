-- The account of a time range, of one moment because it is one statement.
--
-- On one side: the events that were handed to webhook.fanout (events.fanout names its job), the fan-outs that are on
-- record, and how many endpoints these matched. On the other: what became of each matched (endpoint, event). The promise is
--
--     matched = delivered + pending + discarded + skipped
--
-- over the deliveries that fan-outs made, whatever has crashed in between; outstanding fan-outs have matched nothing yet.
-- Deliveries of replays and tests are counted apart. Reasons count by their beginning, up to the first ":" or ";". Times are
-- those at which the events occurred.
-- name: Account :one
with given as (
    select e.id
    from postbus.events as e
    where
        e.occurred_at >= @since and e.occurred_at < @until
        and (@owner_id::text = '' or e.owner_id = @owner_id)
        and e.fanout ? 'webhook.fanout'
),
fanouts as (
    select f.event_id, f.matched
    from postbus.webhook_fanouts as f
    where
        f.occurred_at >= @since and f.occurred_at < @until
        and (@owner_id::text = '' or f.owner_id = @owner_id)
),
deliveries as (
    select d.origin, d.state, 
        case when d.state in ('skipped', 'discarded') then substring(coalesce(d.reason, '') from '^[^:;]*') end as reason,
        count(*) as n
    from postbus.webhook_deliveries as d
    where
        d.occurred_at >= @since and d.occurred_at < @until
        and (@owner_id::text = '' or d.owner_id = @owner_id)
    group by 1, 2, 3
)
select
    (select count(*) from given)::bigint as events,
    (select count(*) from given as g where not exists (select from fanouts as f where f.event_id = g.id))::bigint as outstanding,
    (select count(*) from fanouts)::bigint as fanned_out,
    (select coalesce(sum(f.matched), 0) from fanouts as f)::bigint as matched,
    (
        select coalesce(jsonb_agg(jsonb_build_object('origin', d.origin, 'state', d.state, 'reason', d.reason, 'n', d.n)), '[]')
        from deliveries as d
    )::jsonb as deliveries;
