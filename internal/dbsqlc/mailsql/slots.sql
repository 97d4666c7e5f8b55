-- Takes a slot: in the window that is under way or, where its slots are taken, in the first later one that has one left. One statement
-- on one row: takers in any process go one after the other, and no slot is given twice.
-- name: TakeSlot :one
insert into postbus.mail_slots as s (scope, key, opens_at, taken)
values (
    @scope, @key,
    to_timestamp(floor(extract(epoch from clock_timestamp()) / @window_seconds::float8) * @window_seconds::float8), 1
)
on conflict (scope, key) do update
set
    opens_at = case
        when s.opens_at < excluded.opens_at then excluded.opens_at
        when s.taken < @slots::integer then s.opens_at
        else s.opens_at + make_interval(secs => @window_seconds::float8)
    end,
    taken = case when s.opens_at < excluded.opens_at or s.taken >= @slots::integer then 1 else s.taken + 1 end
returning opens_at, extract(epoch from opens_at - clock_timestamp())::float8 as wait_seconds;

-- Forgets windows that are over. What a taker holds stays.
-- name: PruneSlots :execrows
delete from postbus.mail_slots
where (scope, key) in (
    select s.scope, s.key
    from postbus.mail_slots as s
    where s.opens_at < clock_timestamp() - make_interval(secs => 2 * @window_seconds::float8)
    limit 1000
    for update skip locked
);
