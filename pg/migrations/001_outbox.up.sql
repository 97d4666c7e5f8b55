-- The outbox: one row per event, written in the transaction of the change that it tells of.
-- The relay claims rows that are unmarked (fanned_out_at and poisoned_at are null); seq orders a claim and nothing else:
-- transactions commit out of its order, so nothing may ever read "seq > something".
-- data is json, not jsonb: its bytes stay as they were recorded. The check casts it once, so that no later cast can fail
-- (\u0000, a lone surrogate and a number beyond numeric are refused here).
-- events: none (the events themselves)
create table postbus.events (
    id uuid not null default gen_random_uuid(),
    seq bigint not null generated always as identity,
    type text collate "C" not null,
    owner_id text collate "C" not null,
    subject text collate "C" not null,
    occurred_at timestamptz not null default clock_timestamp(),
    data json not null default '{}',
    trace text,
    fanned_out_at timestamptz,
    fanout jsonb,
    attempts integer not null default 0,
    last_error text,
    next_attempt_at timestamptz,
    poisoned_at timestamptz,
    constraint events_pkey primary key (id),
    constraint events_owner_given check (owner_id <> ''),
    constraint events_type_given check (type <> ''),
    constraint events_subject_given check (subject <> ''),
    constraint events_data_castable check ((data::jsonb) is not null)
);

-- The rows that the relay looks at; it stays as small as the backlog.
create index events_unfanned_idx on postbus.events (seq)
where fanned_out_at is null and poisoned_at is null;

-- Poisoned rows, for the alert and the list.
create index events_poisoned_idx on postbus.events (poisoned_at)
where poisoned_at is not null;

-- Lists by time, and the latest event of a subject.
create unique index events_seq_idx on postbus.events (seq);
create index events_subject_idx on postbus.events (owner_id, subject, seq);

-- A row is updated once, when it is fanned out, and deleted once: vacuum early, at a fixed number of dead rows, so that
-- a claim never wades through yesterday's index entries.
alter table postbus.events set (
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_scale_factor = 0.0,
    autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_vacuum_insert_scale_factor = 0.0,
    autovacuum_analyze_threshold = 5000,
    autovacuum_analyze_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 1
);
