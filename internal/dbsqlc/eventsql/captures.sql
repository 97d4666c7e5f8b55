-- name: PrimaryKey :many
select a.attname::text as column_name
from pg_catalog.pg_index as i
inner join pg_catalog.pg_attribute as a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
where i.indrelid = to_regclass(@table_name) and i.indisprimary
order by array_position(i.indkey::smallint[], a.attnum);

-- name: TableExists :one
select (to_regclass(@table_name) is not null)::boolean as found;

-- name: CaptureFunction :one
select p.prosrc, coalesce(obj_description(p.oid, 'pg_proc'), '')::text as note
from pg_catalog.pg_proc as p
where p.pronamespace = 'postbus'::regnamespace and p.proname = @function_name::text;

-- The triggers of a capture on whatever table: where a declaration names another table, those on the old one go. Clones on
-- partitions go with their parent.
-- name: CaptureTriggers :many
select
    t.tgname::text as name,
    t.tgrelid::regclass::text as table_name,
    coalesce(t.tgrelid = to_regclass(@table_name), false)::boolean as in_place,
    (t.tgenabled <> 'D')::boolean as enabled
from pg_catalog.pg_trigger as t
inner join pg_catalog.pg_proc as p on p.oid = t.tgfoid
where
    p.pronamespace = 'postbus'::regnamespace
    and p.proname = @function_name::text
    and not t.tgisinternal
    and t.tgparentid = 0
order by t.tgname;

-- Every capture in the database: its function, the note on it, and what its triggers are. A trigger's type is a bit for each
-- operation.
-- name: InstalledCaptures :many
select
    p.proname::text as function_name,
    coalesce(obj_description(p.oid, 'pg_proc'), '')::text as note,
    coalesce(min(format('%I.%I', n.nspname, c.relname)), '')::text as table_name,
    coalesce(bool_or(t.tgtype & 4 > 0), false)::boolean as on_insert,
    coalesce(bool_or(t.tgtype & 16 > 0), false)::boolean as on_update,
    coalesce(bool_or(t.tgtype & 8 > 0), false)::boolean as on_delete,
    coalesce(bool_and(t.tgenabled <> 'D'), false)::boolean as enabled
from pg_catalog.pg_proc as p
left join pg_catalog.pg_trigger as t on t.tgfoid = p.oid and not t.tgisinternal and t.tgparentid = 0
left join pg_catalog.pg_class as c on c.oid = t.tgrelid
left join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
where
    p.pronamespace = 'postbus'::regnamespace
    and p.proname like 'capture\_%'
    and p.prorettype = 'trigger'::regtype
group by p.oid, p.proname
order by p.proname;

-- name: TableColumns :many
select a.attname::text as column_name
from pg_catalog.pg_attribute as a
where a.attrelid = to_regclass(@table_name) and a.attnum > 0 and not a.attisdropped
order by a.attnum;
