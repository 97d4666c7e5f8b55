-- The notebook's tables. It is applied once, under a lock, where the table is not there yet.
-- path is the file that a note was imported from and null for a note written by hand; file_sum is what that file held,
-- so that importing it again leaves a note alone that was edited here since.
create schema if not exists notebook;

-- events: emit
create table notebook.notes (
    id uuid not null default gen_random_uuid(),
    owner_id text collate "C" not null,
    path text collate "C",
    file_sum text collate "C",
    title text not null,
    body text not null,
    version bigint not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    constraint notes_pkey primary key (id),
    constraint notes_path_once unique (owner_id, path),
    constraint notes_owner_given check (owner_id <> ''),
    constraint notes_title_given check (title <> '')
);

create index notes_recent_idx on notebook.notes (owner_id, updated_at desc, id desc);

-- The version goes up with every change of the text, whoever writes it: the search index tells old from new by it.
create function notebook.bump_version() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    new.version := old.version + 1;
    new.updated_at := clock_timestamp();
    return new;
end
$$;

create trigger notes_bump_version
before update on notebook.notes
for each row
when (old.title is distinct from new.title or old.body is distinct from new.body)
execute function notebook.bump_version();

-- One row: which notebook this is (the search index on disk is kept under this name, so that the index of one database is
-- never taken for another's), and where its search service was last, for whoever wants to share it.
-- events: none (one row of settings)
create table notebook.identity (
    id uuid not null default gen_random_uuid(),
    search_url text not null default '',
    only_one boolean not null default true,
    constraint identity_pkey primary key (only_one),
    constraint identity_only_one check (only_one)
);

insert into notebook.identity default values;
