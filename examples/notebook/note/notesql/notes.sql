-- name: CreateNote :one
insert into notebook.notes (owner_id, title, body)
values (@owner_id, @title, @body)
returning id, owner_id, path, title, body, version, updated_at, published_at;

-- An update to the same text is an update all the same, and no change: the row's version stays and nothing is recorded.
-- name: UpdateNote :one
update notebook.notes
set title = @title, body = @body
where owner_id = @owner_id and id = @id
returning id, owner_id, path, title, body, version, updated_at, published_at;

-- name: DeleteNote :execrows
delete from notebook.notes
where owner_id = @owner_id and id = @id;

-- No row comes back where the file holds what it held when it was imported last; created tells a new note from a changed one.
-- A new note is published or not; a changed one stays what it was.
-- name: ImportNote :one
insert into notebook.notes as n (owner_id, path, file_sum, title, body, published_at)
values (@owner_id, @path::text, @file_sum::text, @title, @body, case when @publish::boolean then clock_timestamp() end)
on conflict (owner_id, path) do update
set file_sum = excluded.file_sum, title = excluded.title, body = excluded.body
where n.file_sum is distinct from excluded.file_sum
returning id, (xmax = 0)::boolean as created;

-- name: NoteByID :one
select id, owner_id, path, title, body, version, updated_at, published_at
from notebook.notes
where id = @id;

-- A page of notes, the latest change first; before_id is the last note of the page before (null on the first page).
-- The text is cut: a list shows its beginning only.
-- name: ListNotes :many
select n.id, n.owner_id, n.path, n.title, left(n.body, 300) as body, n.version, n.updated_at, n.published_at
from notebook.notes as n
where
    n.owner_id = @owner_id
    and (
        sqlc.narg(before_id)::uuid is null
        or (n.updated_at, n.id) < (select b.updated_at, b.id from notebook.notes as b where b.id = sqlc.narg(before_id))
    )
order by n.updated_at desc, n.id desc
limit @page_size;

-- name: NotesByIDs :many
select id, owner_id, path, title, left(body, 300) as body, version, updated_at, published_at
from notebook.notes
where owner_id = @owner_id and id = any(@ids::uuid[]);

-- Every owner's notes in the order of their ids, to compare with the index.
-- name: NoteVersions :many
select id, version
from notebook.notes
where id > @after_id
order by id
limit @page_size;

-- name: CountNotes :one
select count(*) as notes
from notebook.notes
where owner_id = @owner_id;

-- Publishing again what is published changes nothing, as withdrawing what is not.
-- name: PublishNote :one
update notebook.notes
set published_at = case when @publish::boolean then coalesce(published_at, clock_timestamp()) end
where owner_id = @owner_id and id = @id
returning id, owner_id, path, title, body, version, updated_at, published_at;

-- What of the owner's notes is public, in the order of their ids.
-- name: Publications :many
select note_id, title, version
from notebook.publications
where owner_id = @owner_id and note_id > @after_id
order by note_id
limit @page_size;

-- name: CountPublications :one
select count(*) as notes
from notebook.publications
where owner_id = @owner_id;
