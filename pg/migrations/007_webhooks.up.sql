-- Webhooks: which endpoint of an owner gets which events, what became of each (endpoint, event), and every attempt at it.
--
-- A delivery waits as a row. What is in the queue are lanes: at most max_in_flight jobs of an endpoint at a time, each of
-- which holds one slot and works through due deliveries. A retry in ten hours is a row and no job.

-- events: none (settings; the audit has who changed them)
create table postbus.webhook_endpoints (
    id uuid not null default gen_random_uuid(),
    owner_id text collate "C" not null,
    url text not null,
    description text not null default '',
    types text[] not null, -- globs
    scope json not null default '{}',
    headers_key text, -- which key sealed headers; null where there are none
    headers bytea, -- custom headers, sealed: they often hold credentials
    max_in_flight integer not null default 1,
    rate_per_second integer, -- null: as fast as max_in_flight allows
    ordered boolean not null default false, -- first in, first out per subject
    version bigint not null default 1, -- counts changes of what a lane remembers: url, headers, secrets
    enabled boolean not null default true,
    disabled_reason text,
    disabled_at timestamptz,
    failing_since timestamptz, -- since when no attempt has succeeded
    cooldown_until timestamptz, -- the receiver's Retry-After
    paced_until timestamptz, -- the rate's next free moment
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    constraint webhook_endpoints_pkey primary key (id),
    constraint webhook_endpoints_owner_given check (owner_id <> ''),
    constraint webhook_endpoints_in_flight_range check (max_in_flight between 1 and 32),
    constraint webhook_endpoints_rate_range check (rate_per_second between 1 and 1000)
) with (fillfactor = 80);

create index webhook_endpoints_owner_idx on postbus.webhook_endpoints (owner_id, id);

-- Signing secrets, sealed. Several are valid at once during a rotation.
-- events: none (secrets)
create table postbus.webhook_secrets (
    id uuid not null default gen_random_uuid(),
    endpoint_id uuid not null,
    algorithm text not null,
    key_id text collate "C" not null, -- which key sealed it
    sealed bytea not null,
    public_key text, -- of an asymmetric secret, to be shown at any time
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz, -- null: current
    constraint webhook_secrets_pkey primary key (id),
    constraint webhook_secrets_algorithm_known check (algorithm in ('v1', 'v1a'))
);

create index webhook_secrets_endpoint_idx on postbus.webhook_secrets (endpoint_id);

-- One row for each (endpoint, event), by constraint and for as long as the event is kept: a fan-out that runs twice adds nothing.
-- events: none (bookkeeping of sending; one that fails for good raises an alert)
create table postbus.webhook_deliveries (
    id bigint not null generated always as identity,
    endpoint_id uuid not null,
    event_id uuid not null,
    event_seq bigint not null,
    event_type text collate "C" not null,
    owner_id text collate "C" not null,
    subject text collate "C" not null,
    occurred_at timestamptz not null,
    origin text not null default 'fanout',
    state text not null,
    reason text, -- why it was skipped or discarded, or how the last attempt failed
    attempts integer not null default 0, -- spent of the schedule
    tries integer not null default 0, -- requests sent; numbers the attempts
    next_attempt_at timestamptz, -- of a pending one
    line text collate "C", -- the subject, where the endpoint is ordered: one at a time, by event_seq
    behind boolean not null default false, -- an earlier one of the line is pending
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null,
    settled_at timestamptz,
    acknowledged_at timestamptz, -- somebody has taken note of a discarded one
    constraint webhook_deliveries_pkey primary key (id),
    constraint webhook_deliveries_once unique (endpoint_id, event_id),
    constraint webhook_deliveries_state_known check (state in ('pending', 'delivered', 'discarded', 'skipped')),
    constraint webhook_deliveries_origin_known check (origin in ('fanout', 'replay', 'test')),
    constraint webhook_deliveries_pending_due check ((state = 'pending') = (next_attempt_at is not null))
) with (fillfactor = 90);

-- What a lane looks for.
create index webhook_deliveries_due_idx on postbus.webhook_deliveries (endpoint_id, next_attempt_at, id)
where state = 'pending' and not behind;

-- The heads of lines, and who stands there without being one.
create index webhook_deliveries_line_idx on postbus.webhook_deliveries (endpoint_id, line, event_seq)
where state = 'pending' and line is not null;
create index webhook_deliveries_front_idx on postbus.webhook_deliveries (endpoint_id, line)
where state = 'pending' and line is not null and not behind;

-- The log of an endpoint, of an owner, of an event; failures that nobody has taken note of; accounts by time.
create index webhook_deliveries_log_idx on postbus.webhook_deliveries (endpoint_id, id);
create index webhook_deliveries_owner_idx on postbus.webhook_deliveries (owner_id, id);
create index webhook_deliveries_event_idx on postbus.webhook_deliveries (event_id);
create index webhook_deliveries_unacked_idx on postbus.webhook_deliveries (endpoint_id, id)
where state = 'discarded' and acknowledged_at is null;
create index webhook_deliveries_time_idx on postbus.webhook_deliveries using brin (occurred_at) with (pages_per_range = 32);

-- That an event was fanned out to endpoints, and to how many: the other side of the account.
-- events: none (bookkeeping of sending)
create table postbus.webhook_fanouts (
    event_id uuid not null,
    owner_id text collate "C" not null,
    occurred_at timestamptz not null,
    matched integer not null,
    fanned_out_at timestamptz not null default clock_timestamp(),
    constraint webhook_fanouts_pkey primary key (event_id)
);

create index webhook_fanouts_time_idx on postbus.webhook_fanouts using brin (occurred_at) with (pages_per_range = 32);

-- The lanes of an endpoint. Whoever gives or takes a slot's delivery holds the endpoint's row. A slot outlives a crash: its
-- lease runs out, longer after than any request can take, and only then is its delivery sent again.
-- events: none (leases)
create table postbus.webhook_slots (
    endpoint_id uuid not null,
    slot integer not null,
    token uuid not null default gen_random_uuid(), -- the job that may use the slot carries it
    job_id text,
    delivery_id bigint, -- in flight
    ahead_id bigint, -- set aside for it: sent once the one in flight has succeeded, while that is recorded
    lease uuid, -- of this delivery in this hand
    lease_until timestamptz,
    touched_at timestamptz not null default clock_timestamp(),
    constraint webhook_slots_pkey primary key (endpoint_id, slot),
    constraint webhook_slots_token_key unique (token)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_cost_delay = 1);

-- events: none (a log)
create table postbus.webhook_attempts (
    delivery_id bigint not null,
    n integer not null,
    endpoint_id uuid not null,
    attempted_at timestamptz not null,
    url text not null,
    spent boolean not null, -- false: the receiver asked to come back later
    status integer, -- null: no answer
    latency_ms double precision not null,
    error text,
    response_headers json,
    response_body bytea, -- the first 16 KiB, as they came
    truncated boolean not null default false,
    constraint webhook_attempts_pkey primary key (delivery_id, n)
);

-- Accounts by time read the events of that time.
create index events_time_idx on postbus.events using brin (occurred_at) with (pages_per_range = 32);

-- A delivery is updated once for each attempt and leaves the due index each time: vacuum early.
alter table postbus.webhook_deliveries set (
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_scale_factor = 0.0,
    autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_vacuum_insert_scale_factor = 0.0,
    autovacuum_analyze_threshold = 5000,
    autovacuum_analyze_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 1
);

-- The types of webhooks' own events belong to nobody, so that every application may record them.
insert into postbus.event_types (name, description, subject) values
('webhook.endpoint.disabled', 'An endpoint was disabled because its receiver is gone or kept failing', 'endpoint id'),
('webhook.test', 'A test that was sent to one endpoint by hand', 'endpoint id')
on conflict (name) do nothing;
