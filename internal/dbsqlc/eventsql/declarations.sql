-- name: DeclareType :execrows
insert into postbus.event_types as t (name, app, description, subject, exposure)
values (@name, @app::text, @description, @subject, @exposure)
on conflict (name) do update
set
    description = excluded.description, subject = excluded.subject, exposure = excluded.exposure,
    seen_at = clock_timestamp()
where t.app = excluded.app;

-- name: TypeOwner :one
select coalesce(app, '')::text as app from postbus.event_types where name = @name;

-- name: DeclaredTypes :many
select name, coalesce(app, '')::text as app, description, subject, exposure from postbus.event_types order by name;

-- Adds this declaration beside what others declare; saying it again only proves that it is alive.
-- name: DeclareSubscription :exec
insert into postbus.subscriptions (name, declaration, app, types, coalesces, batch, queue, max_attempts, effect)
values (@name, @declaration, @app, @types, @coalesces, @batch, @queue, @max_attempts, @effect)
on conflict (name, declaration) do update set seen_at = clock_timestamp();

-- A name belongs to the application that declared it, or to all that share it (app is ''), until nobody has for the grace.
-- name: SubscriptionOwner :one
select app
from postbus.subscriptions
where name = @name and app <> @app
    and (seen_at > clock_timestamp() - make_interval(secs => @grace_seconds::float8) or app = '(by-hand)')
limit 1;

-- name: TouchTypes :exec
update postbus.event_types set seen_at = clock_timestamp()
where app = @app::text and name = any(@names::text[]) and seen_at < clock_timestamp() - make_interval(secs => @fresh_seconds::float8);

-- name: TouchSubscriptions :execrows
update postbus.subscriptions set seen_at = clock_timestamp()
where declaration = any(@declarations::text[]) and seen_at < clock_timestamp() - make_interval(secs => @fresh_seconds::float8);

-- Read after the claim, in its transaction and as a statement of its own: under READ COMMITTED it sees every
-- subscription that was registered before now, so one registered between the two is not missed.
-- What was declared by hand does not expire.
-- name: SubscriptionsSeenWithin :many
select name, app, types, coalesces, batch, queue, max_attempts, effect, declared_at,
    (case when app = '(by-hand)' then clock_timestamp() else seen_at end)::timestamptz as seen_at
from postbus.subscriptions
where seen_at > clock_timestamp() - make_interval(secs => @grace_seconds::float8) or app = '(by-hand)'
order by name, declared_at;

-- The types that may leave as webhooks, declared in Go or in SQL. Read after the claim like the subscriptions.
-- name: ExposedTypes :many
select name from postbus.event_types where exposure = 'webhook';

-- name: RetireSubscription :execrows
delete from postbus.subscriptions as s
where s.name = @name and not exists (
    select from postbus.subscriptions as o where o.name = s.name and o.seen_at > clock_timestamp() - make_interval(secs => @living_seconds::float8)
);

-- name: RetireType :execrows
delete from postbus.event_types where name = @name and (app is null or seen_at < clock_timestamp() - make_interval(secs => @living_seconds::float8));

-- name: SetSetting :exec
insert into postbus.settings (name, value) values (@name, @value)
on conflict (name) do update set value = excluded.value;

-- Kinds that a living instance runs, or that a worker claimed in the last five minutes.
-- name: LivingKinds :many
select distinct unnest(l.kinds)::text as kind
from (
    select i.kinds from postbus.instances as i where i.seen_at > clock_timestamp() - make_interval(secs => @living_seconds::float8)
    union all
    select w.kinds from postbus.workers as w where w.seen_at > clock_timestamp() - interval '5 minutes'
) as l;
