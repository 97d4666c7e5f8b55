-- Kinds that processes of the last day have declared, or that workers elsewhere serve, and how many of those that live run each, or
-- have claimed it in the last five minutes. The tables have a row a process, a kind and a worker.
-- name: DeclaredKinds :many
select
    k.kind::text as kind,
    count(*) filter (where k.alive) as instances
from (
    select unnest(i.kinds) as kind, i.seen_at > clock_timestamp() - make_interval(secs => @living_seconds::float8) as alive
    from postbus.instances as i
    union all
    select d.name as kind, false as alive from postbus.kinds as d where d.external
    union all
    select unnest(w.kinds) as kind, true as alive from postbus.workers as w where w.seen_at > clock_timestamp() - interval '5 minutes'
) as k
group by k.kind
order by k.kind;

-- name: ListInstances :many
select
    i.id, i.app, i.version, i.host, i.kinds, i.started_at, i.seen_at,
    (i.seen_at > clock_timestamp() - make_interval(secs => @living_seconds::float8))::boolean as alive
from postbus.instances as i
where i.id > @after_id
order by i.id
limit @page_size;

-- name: CountLiving :one
select count(*) as instances
from (
    select from postbus.instances as i
    where i.seen_at > clock_timestamp() - make_interval(secs => @living_seconds::float8)
    limit @cap
) as l;

-- name: ServerVersion :one
select current_setting('server_version')::text as version;

-- What the tables take on disk with their indexes, and the planner's idea of their rows (-1: never analyzed). Nothing is counted.
-- name: TableSizes :many
select
    c.relname::text as name,
    coalesce(pg_catalog.pg_total_relation_size(c.oid), 0)::bigint as bytes,
    c.reltuples::bigint as rows
from pg_catalog.pg_class as c
inner join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
where n.nspname = 'postbus' and c.relkind in ('r', 'p')
order by c.relname;
