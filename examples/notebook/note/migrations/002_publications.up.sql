-- Notes can be published. published_at on the note is the switch. publications is what of the notes is public, one row each:
-- a trigger keeps it in step whoever writes the note, so that a capture on this table tells of published notes and of no
-- others. What was written before stays private.
alter table notebook.notes add column published_at timestamptz;

-- events: emit
create table notebook.publications (
    note_id uuid not null,
    owner_id text collate "C" not null,
    title text not null,
    version bigint not null,
    constraint publications_pkey primary key (note_id),
    constraint publications_note_fkey foreign key (note_id) references notebook.notes (id) on delete cascade
);

create index publications_owner_idx on notebook.publications (owner_id, note_id);

create function notebook.keep_publications() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if new.published_at is null then
        delete from notebook.publications where note_id = new.id;
    else
        insert into notebook.publications (note_id, owner_id, title, version)
        values (new.id, new.owner_id, new.title, new.version)
        on conflict (note_id) do update set title = excluded.title, version = excluded.version;
    end if;
    return null;
end
$$;

create trigger notes_publish_new
after insert on notebook.notes
for each row
when (new.published_at is not null)
execute function notebook.keep_publications();

create trigger notes_publish
after update on notebook.notes
for each row
when (
    old.published_at is distinct from new.published_at
    or (new.published_at is not null and old.version is distinct from new.version)
)
execute function notebook.keep_publications();

-- Where the published notes go: the endpoint, and the name of the key that seals its secret (the key itself is kept in the
-- data folder), so that a process with another key is told so before it does anything.
alter table notebook.identity
add column endpoint_id uuid,
add column webhook_key text not null default '';
