-- Acts on any number of jobs at once: a retry, cancel or acknowledgement by filter, done chunk by chunk by a job that goes on
-- where it was.

-- One row per act, moved in the transaction of each chunk, so that a crash neither loses nor repeats one. It is also the
-- record of how the act went, kept 30 days after its end.
-- events: none (bookkeeping; the audit has the act)
create table postbus.bulk_acts (
    id uuid not null default gen_random_uuid(),
    act text not null,
    filter json not null,
    owner_id text collate "C" not null default '', -- '' is all
    who text not null,
    state text not null default 'pending',
    matched bigint not null default 0, -- how many jobs matched when it was asked for, then when it began
    about boolean not null default false, -- there are more than that
    seen bigint not null default 0,
    changed bigint not null default 0,
    cursor text not null default '', -- of the queue's list: what is above it was seen
    job_id text,
    last_error text,
    created_at timestamptz not null default clock_timestamp(), -- jobs made since are no part of it
    started_at timestamptz,
    updated_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz,
    constraint bulk_acts_pkey primary key (id),
    constraint bulk_acts_act_known check (act in ('retry', 'cancel', 'acknowledge')),
    constraint bulk_acts_state_known check (state in ('pending', 'running', 'done', 'cancelled', 'failed'))
);

-- The list, newest first, of all owners and of one.
create index bulk_acts_created_idx on postbus.bulk_acts (created_at, id);
create index bulk_acts_owner_idx on postbus.bulk_acts (owner_id, created_at, id);
