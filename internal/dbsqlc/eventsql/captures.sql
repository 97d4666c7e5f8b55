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

-- name: CaptureTriggers :many
select t.tgname::text as name, pg_get_triggerdef(t.oid)::text as definition, (t.tgenabled <> 'D')::boolean as enabled
from pg_catalog.pg_trigger as t
inner join pg_catalog.pg_proc as p on p.oid = t.tgfoid
where
    t.tgrelid = to_regclass(@table_name)
    and p.pronamespace = 'postbus'::regnamespace
    and p.proname = @function_name::text
    and not t.tgisinternal
order by t.tgname;

-- Every capture function in the database with its note; the note begins with the application's name.
-- name: CaptureFunctions :many
select p.proname::text as name, coalesce(obj_description(p.oid, 'pg_proc'), '')::text as note
from pg_catalog.pg_proc as p
where p.pronamespace = 'postbus'::regnamespace and p.proname like 'capture\_%'
order by p.proname;
