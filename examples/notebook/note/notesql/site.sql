-- name: PublishPage :exec
-- Serves what was built. A page that a later build has changed already stays with that one.
update notebook.site_pages
set live_version = version, live_title = title, live_html = html
where note_id = @note_id and version >= @version and (live_version is null or live_version <= version);

-- name: WithdrawPage :exec
-- Takes the page of a note that is not published any more.
delete from notebook.site_pages as s
where s.note_id = @note_id and not exists (select from notebook.publications as p where p.note_id = s.note_id);

-- name: KeepAssets :exec
-- Notes what the page shows from elsewhere, in place of what it showed before.
with page as (
    select s.note_id, s.owner_id, s.assets
    from notebook.site_pages as s
    inner join notebook.publications as p on p.note_id = s.note_id
    where s.note_id = @note_id
),
gone as (
    delete from notebook.site_assets as a
    where a.note_id = @note_id and not exists (select from page where a.url = any(page.assets))
)
insert into notebook.site_assets (note_id, owner_id, url)
select page.note_id, page.owner_id, unnest(page.assets)
from page
on conflict do nothing;

-- name: ListPages :many
select s.note_id, s.live_title, coalesce(s.live_version, 0)::bigint as live_version
from notebook.site_pages as s
where s.owner_id = @owner_id and s.live_version is not null
order by s.live_title, s.note_id
limit @most;

-- name: GetPage :one
select s.live_title, s.live_html, coalesce(s.live_version, 0)::bigint as live_version
from notebook.site_pages as s
where s.owner_id = @owner_id and s.note_id = @note_id and s.live_version is not null;

-- name: ListAssets :many
select a.url from notebook.site_assets as a where a.owner_id = @owner_id and a.note_id = @note_id order by a.url;

-- name: BuildsAfter :many
select b.id, b.note_id, b.outcome, b.version, b.built_by, b.settled_at
from notebook.builds as b
where b.owner_id = @owner_id and b.id > @after
order by b.id
limit @most;
