-- River's tables as they stand after its migration 8, for sqlc to read. River's own migrations make them.

create type postbus.river_job_state as enum (
    'available', 'cancelled', 'completed', 'discarded', 'pending', 'retryable', 'running', 'scheduled'
);

create sequence postbus.river_job_id_seq;

-- events: none (the queue's own table)
create table postbus.river_job (
    id bigint not null primary key,
    state postbus.river_job_state not null default 'available',
    attempt smallint not null default 0,
    max_attempts smallint not null default 25,
    attempted_at timestamptz,
    created_at timestamptz not null default now(),
    finalized_at timestamptz,
    scheduled_at timestamptz not null default now(),
    priority smallint not null default 1,
    args jsonb not null,
    attempted_by text[],
    errors jsonb[],
    kind text not null,
    metadata jsonb not null default '{}',
    queue text not null default 'default',
    tags varchar(255)[] not null default '{}',
    unique_key bytea,
    unique_states bit(8)
);

create function postbus.river_job_state_in_bitmask(bitmask bit(8), state postbus.river_job_state)
returns boolean language sql immutable as $$ select true $$;

-- events: none (the queue's own table)
create table postbus.river_queue (
    name text primary key not null,
    created_at timestamptz not null default now(),
    metadata jsonb not null default '{}',
    paused_at timestamptz,
    updated_at timestamptz not null default current_timestamp
);

-- The adapter's own functions (jobs/river/leases.sql).

create function postbus.wake_queue(queue text) returns text language sql as $$ select '' $$;

create function postbus.end_leases(queue text) returns setof json language sql as $$ select '{}'::json $$;

create function postbus.lease_jobs(kinds text[], worker text, most integer, lease interval)
returns setof json language sql as $$ select '{}'::json $$;

create function postbus.extend_lease(lease text, wanted interval) returns timestamptz language sql as $$ select now() $$;

create function postbus.settle_lease(lease text, verdict text, error text, wait interval, result json)
returns text language sql as $$ select '' $$;
