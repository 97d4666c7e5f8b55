create table postbus.bare (id uuid);
