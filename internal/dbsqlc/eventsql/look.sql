-- Lists of events: what a page looks at. Events of an owner or of a type are found by indexes that hold only those that are
-- fanned out or poisoned, so that no writer pays for them. Those that wait for a relay are few; they are looked at one by one.

-- The seq above which a page looks: that of the last of @look settled ones, or of the last of @look_waiting; 0 where it looks at all.
-- name: LookAtOwn :one
select greatest(
    (
        select case when count(*) = @look::int then min(l.seq) else 0 end
        from (
            select s.seq
            from unnest(case when cardinality(@types::text[]) = 0 then array[''] else @types::text[] end) as t (type)
            cross join lateral (
                select e.seq
                from postbus.events as e
                where
                    (e.fanned_out_at is not null or e.poisoned_at is not null)
                    and (@owner_id::text = '' or e.owner_id = @owner_id)
                    and (@owner_id <> '' or e.type = t.type)
                    and e.seq < @before_seq::bigint and e.seq >= @from_seq::bigint
                order by e.seq desc
                limit @look::int
            ) as s
            order by s.seq desc
            limit @look::int
        ) as l
    ),
    (
        select case when count(*) = @look_waiting::int then min(l.seq) else 0 end
        from (
            select e.seq
            from postbus.events as e
            where e.fanned_out_at is null and e.poisoned_at is null and e.seq < @before_seq::bigint and e.seq >= @from_seq::bigint
            order by e.seq desc
            limit @look_waiting::int
        ) as l
    )
)::bigint as floor;

-- ListEvents of an owner or of types.
-- name: ListOwn :many
(
    select
        id, seq, type, owner_id, subject, occurred_at, trace, fanned_out_at, fanout,
        attempts, last_error, next_attempt_at, poisoned_at
    from postbus.events
    where
        (fanned_out_at is not null or poisoned_at is not null)
        and seq < @before_seq::bigint and seq >= @from_seq::bigint
        and (@owner_id::text = '' or owner_id = @owner_id)
        and (cardinality(@types::text[]) = 0 or type = any(@types))
        and (@subject::text = '' or subject = @subject)
        and (not @fanned::boolean or fanned_out_at is not null)
        and (sqlc.narg(since)::timestamptz is null or occurred_at >= sqlc.narg(since))
        and (sqlc.narg(until)::timestamptz is null or occurred_at < sqlc.narg(until))
    order by seq desc
    limit @page_size::int
)
union all
(
    select
        id, seq, type, owner_id, subject, occurred_at, trace, fanned_out_at, fanout,
        attempts, last_error, next_attempt_at, poisoned_at
    from postbus.events
    where
        fanned_out_at is null and poisoned_at is null
        and not @fanned::boolean
        and seq < @before_seq::bigint and seq >= @from_seq::bigint
        and (@owner_id::text = '' or owner_id = @owner_id)
        and (cardinality(@types::text[]) = 0 or type = any(@types))
        and (@subject::text = '' or subject = @subject)
        and (sqlc.narg(since)::timestamptz is null or occurred_at >= sqlc.narg(since))
        and (sqlc.narg(until)::timestamptz is null or occurred_at < sqlc.narg(until))
    order by seq desc
    limit @page_size::int
)
order by seq desc
limit @page_size::int;

-- LookAtOwn of all events, of those of a subject, of those that wait, or of the poisoned ones.
-- name: LookAtEvents :one
select (case when count(*) = @look::int then min(l.seq) else 0 end)::bigint as floor
from (
    select e.seq
    from postbus.events as e
    where
        e.seq < @before_seq::bigint and e.seq >= @from_seq::bigint
        and (@subject::text = '' or (e.owner_id = @owner_id and e.subject = @subject))
        and (@status::text <> 'pending' or (e.fanned_out_at is null and e.poisoned_at is null))
        and (@status <> 'poisoned' or e.poisoned_at is not null)
    order by e.seq desc
    limit @look::int
) as l;

-- A seq such that events with smaller ones were recorded before the time given, by bisection: seqs are drawn in the order of
-- time, but for statements that overlap. Callers allow for those.
-- name: FindSeqAt :one
with recursive span as (
    select coalesce(min(e.seq), 1) as lo, coalesce(max(e.seq), 0) + 1 as hi from postbus.events as e
    union all
    select
        case when m.occurred_at < sqlc.arg(recorded_at)::timestamptz then m.seq + 1 else span.lo end,
        case when m.occurred_at < sqlc.arg(recorded_at)::timestamptz then span.hi else (span.lo + span.hi) / 2 end
    from span
    cross join lateral (
        select
            coalesce(max(f.seq), span.hi) as seq,
            coalesce(max(f.occurred_at), 'infinity') as occurred_at
        from (
            select e.seq, e.occurred_at
            from postbus.events as e
            where e.seq >= (span.lo + span.hi) / 2 and e.seq < span.hi
            order by e.seq
            limit 1
        ) as f
    ) as m
    where span.lo < span.hi
)
select min(span.hi)::bigint as seq from span;
