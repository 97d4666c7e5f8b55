-- Replays: history handed again, or for the first time, to a subscription or an endpoint, by a job that goes on where it was.

-- One row per replay, moved in the transaction of each batch, so that a crash neither doubles nor skips one.
-- after_seq is a cursor, which the relay may never have: here it is safe, for a replay walks only events that were fanned out
-- before it began. What commits late, with a seq that the walk has passed, is fanned out like any other and is not history.
-- events: none (bookkeeping; what a replay hands over are events that were recorded before)
create table postbus.replays (
    id uuid not null default gen_random_uuid(),
    target text not null,
    name text collate "C" not null, -- the subscription's name, or the endpoint's id
    owner_id text collate "C" not null default '', -- '' is all
    types text[] not null default '{}', -- globs; none is all
    since timestamptz,
    until timestamptz not null,
    options json not null default '{}', -- the target's own
    job_id text,
    from_seq bigint not null default 0,
    after_seq bigint not null default 0,
    until_seq bigint, -- null until it has begun
    fanned_before timestamptz, -- what was fanned out later is not history
    matched bigint not null default 0,
    queued bigint not null default 0,
    state text not null default 'running',
    error text,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz,
    constraint replays_pkey primary key (id),
    constraint replays_target_known check (target in ('subscription', 'endpoint')),
    constraint replays_state_known check (state in ('running', 'done', 'failed', 'cancelled'))
);

-- The list, newest first.
create index replays_created_idx on postbus.replays (created_at, id);

-- The jobs that replays made for subscriptions. An event's fan-out does not name them, and retention keeps the event while
-- one of them is unfinished. A row goes with its event.
-- events: none (bookkeeping of replays)
create table postbus.replayed (
    event_id uuid not null,
    job_id text collate "C" not null,
    constraint replayed_pkey primary key (event_id, job_id)
);
