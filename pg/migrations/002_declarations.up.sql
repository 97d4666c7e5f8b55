-- What applications declare, mirrored so that SQL callers and every relay are held to the same declarations.

-- An event whose type is not here is refused. Types from Go are refreshed by their application's heartbeat; types
-- declared in SQL (app is null) do not expire.
-- events: none (declarations, made at every boot)
create table postbus.event_types (
    name text collate "C" not null,
    app text collate "C",
    description text not null default '',
    subject text not null default '',
    exposure text not null default 'internal',
    declared_at timestamptz not null default clock_timestamp(),
    seen_at timestamptz not null default clock_timestamp(),
    constraint event_types_pkey primary key (name),
    constraint event_types_name_form check (name ~ '^[a-z0-9_]+(\.[a-z0-9_]+)*$' and length(name) <= 120),
    constraint event_types_exposure_known check (exposure in ('internal', 'webhook'))
);

-- One row per distinct declaration of a subscription, kept alive by the heartbeat of every instance that declares it.
-- While living instances declare a name, the active declaration is the union of theirs; after the last of them was seen
-- the newest stays active for the grace (24 h). A boot adds its own row and removes nobody's.
-- events: none (declarations, made at every boot)
create table postbus.subscriptions (
    name text collate "C" not null,
    declaration text collate "C" not null, -- hash over the columns below
    app text collate "C" not null,
    types text[] not null,
    coalesces boolean not null,
    queue text not null,
    max_attempts integer not null,
    effect text not null default '',
    declared_at timestamptz not null default clock_timestamp(),
    seen_at timestamptz not null default clock_timestamp(),
    constraint subscriptions_pkey primary key (name, declaration)
);

-- Limits that SQL callers share with Go callers.
-- events: none (limits, written at boot)
create table postbus.settings (
    name text collate "C" not null,
    value text not null,
    constraint settings_pkey primary key (name)
);

insert into postbus.settings (name, value) values ('max_data_bytes', '262144');
