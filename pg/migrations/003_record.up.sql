-- The SQL surface for any language. The functions run as their owner with a fixed search_path and every name qualified;
-- nobody may call them unless granted.

create function postbus.record(owner text, type text, subject text, data json default '{}')
returns uuid
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    recorded uuid;
    bytes integer := pg_catalog.octet_length($4::text);
    most integer := (select s.value::integer from postbus.settings s where s.name = 'max_data_bytes');
begin
    if coalesce($1, '') = '' or coalesce($2, '') = '' or coalesce($3, '') = '' then
        raise exception 'postbus.record: owner, type and subject must not be empty (owner %, type %, subject %)',
            coalesce(quote_literal($1), 'null'), coalesce(quote_literal($2), 'null'), coalesce(quote_literal($3), 'null')
            using errcode = '22023';
    end if;
    if $4 is null then
        raise exception 'postbus.record: data of event type % must not be null; leave it out for {}', quote_literal($2)
            using errcode = '22004';
    end if;
    if bytes > most then
        raise exception 'postbus.record: data of event type % is % bytes; the limit is % bytes', quote_literal($2), bytes, most
            using errcode = '22023',
            hint = 'Record keys and let the subscriber read the row, or raise the limit in the configuration.';
    end if;
    if position('\u0000' in $4::text) > 0 and $4::text ~ '(^|[^\\])(\\\\)*\\u0000' then
        raise exception 'postbus.record: data of event type % holds \u0000, which Postgres cannot store as text', quote_literal($2)
            using errcode = '22P05';
    end if;
    insert into postbus.events (type, owner_id, subject, data, trace)
    select t.name, $1, $3, $4, nullif(current_setting('postbus.trace', true), '')
    from postbus.event_types t
    where t.name = $2
    returning events.id into recorded;
    if recorded is null then
        raise exception 'postbus.record: event type % is not declared', quote_literal($2)
            using errcode = '22023',
            hint = 'Declare it in the application''s configuration, or with select postbus.declare_type(...).';
    end if;
    return recorded;
end
$$;

comment on function postbus.record(text, text, text, json) is
    'Records one event in the calling transaction and answers its id. set local postbus.trace carries a W3C traceparent.';

create function postbus.declare_type(
    type text, description text default '', subject text default '', exposure text default 'internal'
)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    owner_app text;
begin
    if $1 is null or $1 !~ '^[a-z0-9_]+(\.[a-z0-9_]+)*$' or length($1) > 120 then
        raise exception 'postbus.declare_type: % is not a type name: use dotted lower-case words (a-z, 0-9, _), at most 120 bytes',
            coalesce(quote_literal($1), 'null') using errcode = '22023';
    end if;
    if $4 is null or $4 not in ('internal', 'webhook') then
        raise exception 'postbus.declare_type: exposure % is not known: use internal or webhook',
            coalesce(quote_literal($4), 'null') using errcode = '22023';
    end if;
    select t.app into owner_app from postbus.event_types t where t.name = $1;
    if owner_app is not null then
        raise exception 'postbus.declare_type: type % belongs to application %', quote_literal($1), quote_literal(owner_app)
            using errcode = '42501', hint = 'Choose another name, or change the declaration there.';
    end if;
    insert into postbus.event_types as t (name, app, description, subject, exposure)
    values ($1, null, coalesce($2, ''), coalesce($3, ''), $4)
    on conflict (name) do update
    set description = excluded.description, subject = excluded.subject, exposure = excluded.exposure,
        seen_at = clock_timestamp()
    where t.app is null;
end
$$;

comment on function postbus.declare_type(text, text, text, text) is
    'Declares an event type for callers in SQL. Saying it again changes it. A type that belongs to an application is refused.';

revoke all on function postbus.record(text, text, text, json) from public;
revoke all on function postbus.declare_type(text, text, text, text) from public;

-- A role that may record and nothing else, where the migrating role may make roles. Roles belong to the cluster, so it
-- may be there already, and boot must not fail for the lack of it.
do $$
begin
    if not exists (select from pg_catalog.pg_roles r where r.rolname = 'postbus_writer') then
        create role postbus_writer nologin;
    end if;
    grant usage on schema postbus to postbus_writer;
    grant execute on function postbus.record(text, text, text, json) to postbus_writer;
exception
    when insufficient_privilege or unique_violation or duplicate_object then
        raise notice 'postbus_writer was not made or granted: %', sqlerrm;
end
$$;
