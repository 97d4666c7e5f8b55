-- The outbox.
-- events: none (the events themselves)
create table postbus.events (id uuid);
