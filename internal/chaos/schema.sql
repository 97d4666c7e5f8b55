-- What the business writes, and what the harness notes about it. It is loaded as the role of the buses.
create schema app;

-- Orders whose events the writers record.
-- events: none (the writers record them)
create table app.orders (id bigint primary key, via text not null);

-- Orders whose events a trigger records.
-- events: none (declared when the buses start)
create table app.captured (id bigint primary key, via text not null);

create view app.business as select id, via from app.orders union all select id, via from app.captured;

-- events: none (what handlers did, once for each event and subscriber)
create table app.handled (
    event_id uuid not null, subscriber text not null, subject text not null, times integer not null default 1,
    primary key (event_id, subscriber)
);

-- events: none (every run of a handler that committed)
create table app.runs (
    event_id uuid not null, subscriber text not null, process text not null, at timestamptz not null default clock_timestamp()
);
create index runs_at_idx on app.runs (at);

-- events: none (what the worker did; there is no key, so that what was done twice shows)
create table app.labels (event_id uuid not null, worker text not null, at timestamptz not null default clock_timestamp());

-- Filled at the end, from what was noted outside of the database.
-- events: none (what writers were told)
create table app.journal (id bigint not null, outcome text not null, why text not null);

-- events: none (what the receiver of webhooks took)
create table app.sunk (endpoint text not null, event_id text not null, subject text not null, status integer not null, fault text not null);

-- events: none (what the worker's log says)
create table app.worker_log (event_id uuid not null);
