-- Which migrations were applied, and when. Made before the first of them, outside their numbers.
-- events: none (a log)
create table postbus.migrations (
    version bigint not null,
    name text not null,
    applied_at timestamptz not null default clock_timestamp(),
    constraint migrations_pkey primary key (version)
);
