-- The outbox.
create table postbus.events (id uuid);
