-- The site: a page for each published note, which a builder in another language renders.

-- What was built, and what of it is served: site.publish takes it over once a build has settled.
-- events: none (made from events, never changed by hand)
create table notebook.site_pages (
    note_id uuid not null,
    owner_id text collate "C" not null,
    version bigint not null,
    title text not null,
    html text not null,
    assets text[] not null default '{}',
    live_version bigint,
    live_title text not null default '',
    live_html text not null default '',
    constraint site_pages_pkey primary key (note_id)
);

create index site_pages_live_idx on notebook.site_pages (owner_id, note_id) where live_version is not null;

-- What the pages show from elsewhere, kept by site.assets.
-- events: none (made from events, never changed by hand)
create table notebook.site_assets (
    note_id uuid not null,
    owner_id text collate "C" not null,
    url text not null,
    constraint site_assets_pkey primary key (note_id, url)
);

-- One row for each event that was built, written by the builder in the transaction that ends its job. Whoever waits for an owner's
-- builds is told, in whatever process.
-- events: emit
create table notebook.builds (
    id bigint generated always as identity,
    event_id uuid not null,
    note_id uuid not null,
    owner_id text collate "C" not null,
    outcome text not null,
    version bigint not null,
    built_by text not null,
    settled_at timestamptz not null default clock_timestamp(),
    constraint builds_pkey primary key (id),
    constraint builds_event_key unique (event_id),
    constraint builds_outcome_known check (outcome in ('built', 'withdrawn'))
);

create index builds_owner_idx on notebook.builds (owner_id, id);

create function notebook.tell_build() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform pg_notify('notebook_builds', new.owner_id);
    return null;
end
$$;

create trigger builds_tell
after insert on notebook.builds
for each row
execute function notebook.tell_build();
