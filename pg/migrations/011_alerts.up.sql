-- What a person should see to, so that it reaches someone: alerts are computed from the tables, and what is here is which of
-- them were told of. A raising and a clearing commit together with the event that tells of it.

-- One open row for each owner that is told, alert and thing that it is about: whoever inserts it records the event.
-- events: none (whoever inserts a row records postbus.alert.raised in the same transaction)
create table postbus.alerts (
    id bigint not null generated always as identity,
    owner_id text collate "C" not null, -- whose events tell of it
    name text collate "C" not null,
    about text collate "C" not null default '', -- one kind or endpoint; '' where it is about the whole
    count bigint not null,
    message text not null,
    way_out text not null,
    raised_at timestamptz not null default clock_timestamp(),
    seen_at timestamptz not null default clock_timestamp(), -- by the last look that found it
    absent_since timestamptz, -- since the first of the looks that did not find it
    cleared_at timestamptz,
    constraint alerts_pkey primary key (id)
);

create unique index alerts_open_idx on postbus.alerts (owner_id, name, about)
where cleared_at is null;

-- When somebody looked last for an owner at these alerts: one of the processes that watch the same looks for all of them.
-- events: none (leases)
create table postbus.alert_looks (
    owner_id text collate "C" not null,
    watches text collate "C" not null, -- names of alerts
    looked_at timestamptz not null default clock_timestamp(),
    constraint alert_looks_pkey primary key (owner_id, watches)
);

insert into postbus.event_types (name, description, subject, exposure) values
('postbus.alert.raised', 'Something stands that a person should see to', 'name of the alert, and / and what it is about', 'webhook'),
('postbus.alert.cleared', 'It stands no longer', 'name of the alert, and / and what it is about', 'webhook')
on conflict (name) do nothing;
