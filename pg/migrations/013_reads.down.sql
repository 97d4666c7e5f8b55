-- Lists by owner or type scan again.
drop index postbus.replays_owner_idx;
drop index postbus.webhook_deliveries_state_idx;
drop index postbus.events_poisoned_idx;
create index events_poisoned_idx on postbus.events (poisoned_at)
where poisoned_at is not null;
drop index postbus.events_type_idx;
drop index postbus.events_owner_idx;
