-- Written in the act's transaction: both commit or neither does.
-- name: InsertAudit :exec
insert into postbus.audit (who, face, operation, owner_id, input, result, detail)
values (@who, @face, @operation, @owner_id, @input, @result, @detail);

-- A page of the log, newest first; before is the keyset (0 on the first page). Conditions that are not asked for are folded
-- away: the statement is planned with its values. from_id and before also bound the times, see FindAuditIDAt.
-- name: ListAudit :many
select id, at, who, face, operation, owner_id, input, result, detail
from postbus.audit
where
    (@before::bigint = 0 or id < @before)
    and (@from_id::bigint = 0 or id >= @from_id)
    and (@owner_id::text = '' or owner_id = @owner_id)
    and (@who::text = '' or who = @who)
    and (@operation::text = '' or operation = @operation)
    and (sqlc.narg(since)::timestamptz is null or at >= sqlc.narg(since))
    and (sqlc.narg(until)::timestamptz is null or at < sqlc.narg(until))
order by id desc
limit @page_size;

-- An id such that lines with smaller ids were written before the time given, by bisection along the key: ids are drawn in the
-- order of time, but for statements that overlap. Callers allow for those.
-- name: FindAuditIDAt :one
with recursive span as (
    select coalesce(min(a.id), 1) as lo, coalesce(max(a.id), 0) + 1 as hi from postbus.audit as a
    union all
    select
        case when m.at < sqlc.arg(written_at)::timestamptz then m.id + 1 else span.lo end,
        case when m.at < sqlc.arg(written_at)::timestamptz then span.hi else (span.lo + span.hi) / 2 end
    from span
    cross join lateral (
        select
            coalesce(max(f.id), span.hi) as id,
            coalesce(max(f.at), 'infinity') as at
        from (
            select a.id, a.at
            from postbus.audit as a
            where a.id >= (span.lo + span.hi) / 2 and a.id < span.hi
            order by a.id
            limit 1
        ) as f
    ) as m
    where span.lo < span.hi
)
select min(span.hi)::bigint as id from span;
