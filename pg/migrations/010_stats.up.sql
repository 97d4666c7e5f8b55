-- What happened, minute by minute: what stats.series shows of the last 30 days. Every process adds its counts every ten seconds.
--
-- label is a kind of job, or '' for all of them together: a question about all reads one row a minute and not one for each kind.
-- b00 to b16 count latencies by size: up to 1, 2, 5, 10, 20, 50, 100, 200, 500 ms, 1, 2, 5, 10, 30 s, 1, 5 min, and beyond. They are
-- columns and no array, so that adding up 43,200 of them takes milliseconds. Where a series has no latencies they stay 0.
-- events: none (counters)
create table postbus.stats (
    series text collate "C" not null,
    label text collate "C" not null,
    minute timestamptz not null,
    n bigint not null,
    sum_ms double precision not null, -- of the latencies: b00 to b16 say how many there are
    b00 bigint not null, b01 bigint not null, b02 bigint not null, b03 bigint not null, b04 bigint not null, b05 bigint not null,
    b06 bigint not null, b07 bigint not null, b08 bigint not null, b09 bigint not null, b10 bigint not null, b11 bigint not null,
    b12 bigint not null, b13 bigint not null, b14 bigint not null, b15 bigint not null, b16 bigint not null,
    constraint stats_pkey primary key (series, label, minute)
) with (fillfactor = 80, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0.02);
