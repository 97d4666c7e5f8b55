-- Work by the clock. What is declared is mirrored; whoever inserts a tick's row enqueues its job, so that a tick runs once
-- over all instances, and what it did survives restarts and the cleaning of jobs.
-- events: none (declarations, made at every boot)
create table postbus.periodics (
    app text collate "C" not null,
    name text collate "C" not null,
    schedule text not null,
    paused_at timestamptz,
    since timestamptz not null default clock_timestamp(), -- ticks up to here do not run
    seen_at timestamptz not null default clock_timestamp(),
    constraint periodics_pkey primary key (app, name)
);

-- events: none (bookkeeping of ticks; their jobs tell how they ended)
create table postbus.periodic_runs (
    app text collate "C" not null,
    name text collate "C" not null,
    slot timestamptz not null,
    by_hand boolean not null default false,
    job_id text,
    began_at timestamptz,
    ended_at timestamptz,
    result text not null default '',
    error text,
    constraint periodic_runs_pkey primary key (app, name, slot),
    constraint periodic_runs_result_known check (result in ('', 'running', 'ok', 'failed'))
);
