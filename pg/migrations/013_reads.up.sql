-- Lists that stay fast however long the history is.

-- Events of an owner, and of a type, newest first. Only those that are fanned out or poisoned: an insert pays for neither
-- index, the relay's mark does.
create index events_owner_idx on postbus.events (owner_id, seq)
where fanned_out_at is not null or poisoned_at is not null;
create index events_type_idx on postbus.events (type, seq)
where fanned_out_at is not null or poisoned_at is not null;

-- Poisoned events in the order of the list.
drop index postbus.events_poisoned_idx;
create index events_poisoned_idx on postbus.events (seq)
where poisoned_at is not null;

-- Deliveries that failed or were left out, newest first: one that succeeds is never in it.
create index webhook_deliveries_state_idx on postbus.webhook_deliveries (state, id)
where state in ('discarded', 'skipped');

-- An owner's replays.
create index replays_owner_idx on postbus.replays (owner_id, created_at, id);
