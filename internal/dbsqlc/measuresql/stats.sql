-- Adds counts to those that are there: processes write the same minutes, and each writes a minute several times. Rows come in the
-- order of the key, so that two processes never wait for each other in a circle. counts holds 17 of a row after those of the row
-- before.
-- name: AddStats :exec
insert into postbus.stats as s (
    series, label, minute, n, sum_ms,
    b00, b01, b02, b03, b04, b05,
    b06, b07, b08, b09, b10, b11,
    b12, b13, b14, b15, b16
)
select
    r.series, r.label, r.minute, r.n, r.sum_ms,
    (@counts::bigint[])[r.ord * 17 - 16], (@counts::bigint[])[r.ord * 17 - 15], (@counts::bigint[])[r.ord * 17 - 14],
    (@counts::bigint[])[r.ord * 17 - 13], (@counts::bigint[])[r.ord * 17 - 12], (@counts::bigint[])[r.ord * 17 - 11],
    (@counts::bigint[])[r.ord * 17 - 10], (@counts::bigint[])[r.ord * 17 - 9], (@counts::bigint[])[r.ord * 17 - 8],
    (@counts::bigint[])[r.ord * 17 - 7], (@counts::bigint[])[r.ord * 17 - 6], (@counts::bigint[])[r.ord * 17 - 5],
    (@counts::bigint[])[r.ord * 17 - 4], (@counts::bigint[])[r.ord * 17 - 3], (@counts::bigint[])[r.ord * 17 - 2],
    (@counts::bigint[])[r.ord * 17 - 1], (@counts::bigint[])[r.ord * 17]
from (
    select
        unnest(@series::text[]) as series,
        unnest(@labels::text[]) as label,
        unnest(@minutes::timestamptz[]) as minute,
        unnest(@ns::bigint[]) as n,
        unnest(@sums_ms::float8[]) as sum_ms,
        generate_series(1, cardinality(@series::text[])) as ord
) as r
order by r.series, r.label, r.minute
on conflict (series, label, minute) do update
set
    n = s.n + excluded.n, sum_ms = s.sum_ms + excluded.sum_ms,
    b00 = s.b00 + excluded.b00, b01 = s.b01 + excluded.b01, b02 = s.b02 + excluded.b02, b03 = s.b03 + excluded.b03,
    b04 = s.b04 + excluded.b04, b05 = s.b05 + excluded.b05, b06 = s.b06 + excluded.b06, b07 = s.b07 + excluded.b07,
    b08 = s.b08 + excluded.b08, b09 = s.b09 + excluded.b09, b10 = s.b10 + excluded.b10, b11 = s.b11 + excluded.b11,
    b12 = s.b12 + excluded.b12, b13 = s.b13 + excluded.b13, b14 = s.b14 + excluded.b14, b15 = s.b15 + excluded.b15,
    b16 = s.b16 + excluded.b16;

-- A series in slots of some minutes, which are aligned to 1970: a range of the primary key. Slots in which nothing happened are
-- left out.
-- name: ReadStats :many
select
    date_bin(make_interval(mins => sqlc.arg(step_minutes)::integer), minute, timestamptz '1970-01-01 00:00:00+00')::timestamptz as slot,
    sum(n)::bigint as n, sum(sum_ms)::float8 as sum_ms,
    sum(b00)::bigint as b00, sum(b01)::bigint as b01, sum(b02)::bigint as b02, sum(b03)::bigint as b03,
    sum(b04)::bigint as b04, sum(b05)::bigint as b05, sum(b06)::bigint as b06, sum(b07)::bigint as b07,
    sum(b08)::bigint as b08, sum(b09)::bigint as b09, sum(b10)::bigint as b10, sum(b11)::bigint as b11,
    sum(b12)::bigint as b12, sum(b13)::bigint as b13, sum(b14)::bigint as b14, sum(b15)::bigint as b15,
    sum(b16)::bigint as b16
from postbus.stats
where series = @series and label = @label and minute >= @since and minute < @until
group by 1
order by 1;

-- The pair of series and label that comes next; series '' and label '' come before all.
-- name: NextStatsPair :one
select series, label
from postbus.stats
where (series, label) > (@series::text, @label::text)
order by series, label
limit 1;

-- Removes a pair's oldest minutes. What another process is removing is left out.
-- name: PruneStats :execrows
delete from postbus.stats as s
using (
    select o.series, o.label, o.minute
    from postbus.stats as o
    where o.series = @series and o.label = @label and o.minute < clock_timestamp() - make_interval(secs => @keep_seconds::float8)
    order by o.minute
    limit @most
    for update skip locked
) as old
where s.series = old.series and s.label = old.label and s.minute = old.minute;

-- Deliveries that wait, counted up to a cap by the indexes of lanes and lines.
-- name: CountPendingDeliveries :one
select (
    (select count(*) from (
        select from postbus.webhook_deliveries where state = 'pending' and not behind limit @cap
    ) as due)
    + (select count(*) from (
        select from postbus.webhook_deliveries where state = 'pending' and line is not null and behind limit @cap
    ) as lines)
)::bigint as deliveries;
