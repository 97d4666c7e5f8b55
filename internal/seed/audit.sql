-- An act in ten seconds.
insert into postbus.audit (id, at, who, face, operation, owner_id, input, result, detail) overriding system value
select
    20000000 - n.i, statement_timestamp() - n.i * interval '1 second',
    case when h.h % 100 < 60 then 'account:ann' when h.h % 100 < 99 then 'token:ci' else 'account:bob' end,
    'http',
    case when h.h % 7 < 4 then 'tasks.retry' when h.h % 7 < 6 then 'webhooks.redeliver' else 'tasks.cancel' end,
    case when h.h % 10 = 1 then 'big' when h.h % 10 < 5 then '' else 'owner-' || h.h % 2000 end,
    json_build_object('id', n.i::text), 'ok', ''
from generate_series($1::bigint + 1, $2::bigint) as n (i)
cross join lateral (select hashint8(n.i + 500000000)::bigint & 2147483647 as h) as h
where n.i % 10 = 0;
