-- Their attempts.
insert into postbus.webhook_attempts (
    delivery_id, n, endpoint_id, attempted_at, url, spent, status, latency_ms, error, response_headers, response_body
)
select
    d.id, t.n, d.endpoint_id, d.occurred_at + t.n * interval '1 minute', 'https://example.com/hooks', true,
    case d.state when 'delivered' then 200 else 500 end, 12, case when d.state <> 'delivered' then '500 Internal Server Error' end,
    '{"Content-Type": ["text/plain"]}', 'thank you'
from postbus.webhook_deliveries as d
cross join lateral generate_series(1, d.tries) as t (n)
where d.id >= 20000000 - $2::bigint and d.id < 20000000 - $1::bigint;
