-- What the plain side of a pair writes, and a place for River's own tables beside ours.
create schema bench;

-- The business row: every side writes one per transaction.
-- events: none (each side of a measurement records in its own way)
create table bench.notes (
    id bigint generated always as identity primary key,
    owner_id text not null,
    title text not null,
    changed_at timestamptz not null default clock_timestamp()
);

-- The plain second insert: an event's payload in a table with a primary key and nothing else.
-- events: none (what a measurement compares with)
create table bench.plain (
    id bigint generated always as identity primary key,
    type text not null,
    owner_id text not null,
    subject text not null,
    occurred_at timestamptz not null default clock_timestamp(),
    data json not null
);

create schema riverdirect;
