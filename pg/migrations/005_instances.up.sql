-- One row per process, refreshed by its heartbeat: by it the living and the dead are told apart. The id is the name under
-- which the process holds jobs. Rows are removed a day after they were last seen, or by a clean stop.
-- events: none (heartbeats)
create table postbus.instances (
    id text collate "C" not null,
    app text collate "C" not null,
    version text not null default '',
    host text not null default '',
    kinds text[] not null default '{}',
    started_at timestamptz not null default clock_timestamp(),
    seen_at timestamptz not null default clock_timestamp(),
    constraint instances_pkey primary key (id)
);

alter table postbus.instances set (
    fillfactor = 50,
    autovacuum_vacuum_threshold = 200,
    autovacuum_vacuum_scale_factor = 0.0
);
