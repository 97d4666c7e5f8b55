-- Job kinds as applications and SQL declare them, so that workers in any language, and callers of postbus.enqueue, are held to
-- the same declarations as Go.
-- events: none (declarations, made at every boot)
create table postbus.kinds (
    name text collate "C" not null,
    app text collate "C", -- null: declared in SQL, which does not expire
    external boolean not null,
    queue text not null,
    max_attempts integer not null,
    lease_us bigint not null, -- an external kind's default lease
    waits_us bigint[] not null default '{}', -- an external kind's waits after each attempt, the last for all that follow
    receipt boolean not null default false,
    description text not null default '',
    declared_at timestamptz not null default clock_timestamp(),
    seen_at timestamptz not null default clock_timestamp(),
    constraint kinds_pkey primary key (name),
    constraint kinds_attempts_range check (max_attempts between 1 and 1000)
);

-- Workers of external kinds that claimed lately.
-- events: none (heartbeats)
create table postbus.workers (
    name text collate "C" not null,
    kinds text[] not null,
    seen_at timestamptz not null default clock_timestamp(),
    constraint workers_pkey primary key (name)
);

-- The SQL surface for workers in any language. Jobs of external kinds are claimed under a lease and settled; postbus.lease_jobs and
-- its kin, which do it, come with the queue's tables. Functions run as their owner; nobody may call them unless granted.

create function postbus.claim_work(kinds text[], worker text, max integer default 1, lease interval default null)
returns table (
    id text, job text, kind text, args json, event json, owner text, trace text, attempt integer, max_attempts integer, lease_until timestamptz
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    unknown text;
begin
    if coalesce(cardinality($1), 0) = 0 or array_ndims($1) > 1 or array_position($1, null) is not null then
        raise exception 'postbus.claim_work: say which kinds the worker serves' using errcode = '22023';
    end if;
    if cardinality($1) > 1000 then
        raise exception 'postbus.claim_work: % kinds; the limit is 1000', cardinality($1) using errcode = '22023';
    end if;
    if coalesce($2, '') = '' or octet_length($2) > 120 then
        raise exception 'postbus.claim_work: the worker''s name has % bytes; use 1 to 120', coalesce(octet_length($2), 0) using errcode = '22023';
    end if;
    if $3 is null or $3 not between 1 and 100 then
        raise exception 'postbus.claim_work: max is %; use 1 to 100', coalesce($3::text, 'null') using errcode = '22023';
    end if;
    if $4 not between interval '1 second' and interval '24 hours' then
        raise exception 'postbus.claim_work: the lease is %; use 1 second to 24 hours', $4 using errcode = '22023';
    end if;
    select k.name into unknown
    from unnest($1) as k (name)
    where not exists (select from postbus.kinds as d where d.name = k.name and d.external)
    limit 1;
    if unknown is not null then
        raise exception 'postbus.claim_work: kind % is not declared as external', quote_literal(unknown) using errcode = '22023',
            hint = 'Declare it: select postbus.declare_kind(...), or select postbus.declare_subscription(...) for events.';
    end if;
    perform postbus.see_worker($2, $1);
    return query
    select
        w.leased ->> 'lease', w.leased ->> 'job', w.leased ->> 'kind', w.leased -> 'args',
        (
            select json_build_object(
                'id', e.id, 'type', e.type, 'owner_id', e.owner_id, 'subject', e.subject, 'occurred_at', e.occurred_at,
                'trace', coalesce(e.trace, ''), 'data', e.data
            )
            from postbus.events as e
            where e.id = (w.leased -> 'args' ->> 'event_id')::uuid
                and exists (select from postbus.subscriptions as s where s.name = w.leased ->> 'kind')
        ),
        w.leased ->> 'owner', w.leased ->> 'trace', (w.leased ->> 'attempt')::integer, (w.leased ->> 'max_attempts')::integer,
        (w.leased ->> 'until')::timestamptz
    from postbus.lease_jobs($1, $2, $3, $4) as w (leased);
end
$$;

comment on function postbus.claim_work(text[], text, integer, interval) is
    'Claims jobs of external kinds for a worker. Complete or fail each, or extend it, before lease_until. LISTEN postbus_work tells of new jobs.';

-- Notes that a worker is at work, every 10 seconds at most. It waits for nobody: workers may share a name.
create function postbus.see_worker(worker text, kinds text[]) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    update postbus.workers as w
    set kinds = $2, seen_at = clock_timestamp()
    where w.name in (
        select s.name from postbus.workers as s
        where s.name = $1 and (s.seen_at < clock_timestamp() - interval '10 seconds' or s.kinds <> $2)
        for update skip locked
    );
    if not exists (select from postbus.workers as w where w.name = $1) then
        insert into postbus.workers as w (name, kinds) values ($1, $2) on conflict do nothing;
    end if;
end
$$;

create function postbus.extend_work(id text, lease interval default '1 minute') returns timestamptz
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if $2 is null or $2 not between interval '1 second' and interval '24 hours' then
        raise exception 'postbus.extend_work: the lease is %; use 1 second to 24 hours', coalesce($2::text, 'null') using errcode = '22023';
    end if;
    return postbus.extend_lease($1, $2);
end
$$;

comment on function postbus.extend_work(text, interval) is
    'Holds a claimed job for a lease from now on. SQLSTATE PB001: the lease is lost. PB002: the job was asked to stop.';

create function postbus.complete_work(id text, result json default null) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if octet_length($2::text) > 65536 then
        raise exception 'postbus.complete_work: the result has % bytes; the limit is 65536', octet_length($2::text) using errcode = '22023';
    end if;
    perform postbus.settle_lease($1, 'completed', '', null, $2);
end
$$;

comment on function postbus.complete_work(text, json) is
    'Ends a claimed job well, in the calling transaction. SQLSTATE PB001: the lease is lost, and what was done must not count.';

create function postbus.fail_work(id text, error text, how text default 'retry', wait interval default null) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if $3 is null or $3 not in ('retry', 'discard', 'snooze') then
        raise exception 'postbus.fail_work: how is %; use retry, discard or snooze', coalesce(quote_literal($3), 'null') using errcode = '22023';
    end if;
    if $3 = 'snooze' and $4 is null then
        raise exception 'postbus.fail_work: a snooze must say for how long: wait' using errcode = '22023';
    end if;
    if $3 <> 'snooze' and coalesce($2, '') = '' then
        raise exception 'postbus.fail_work: say what failed: error' using errcode = '22023';
    end if;
    if $4 not between interval '0' and interval '3650 days' then
        raise exception 'postbus.fail_work: wait is %; use 0 to 3650 days', $4 using errcode = '22023';
    end if;
    return postbus.settle_lease(
        $1, case $3 when 'retry' then 'failed' when 'discard' then 'discarded' else 'snoozed' end, left(coalesce($2, ''), 16384), $4
    );
end
$$;

comment on function postbus.fail_work(text, text, text, interval) is
    'Ends the attempt of a claimed job and answers its state: retryable, discarded, pending (snoozed) or cancelled. PB001: the lease is lost.';

-- Declares an external kind for those who enqueue and claim it in SQL. Saying it again changes it.
create function postbus.declare_kind(
    kind text, max_attempts integer default 8, lease interval default '1 minute', waits interval[] default null, description text default ''
)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    owner_app text;
    pauses interval[] := coalesce($4, array[
        '2s', '4s', '8s', '16s', '32s', '64s', '128s', '256s', '512s', '10min'
    ]::interval[]);
begin
    if $1 is null or $1 !~ '^[a-z0-9]+([._-]?[a-z0-9]+)*$' or length($1) > 59 then
        raise exception 'postbus.declare_kind: % names no external kind: use words of a-z and 0-9 with one of . _ - between them, at most 59 bytes',
            coalesce(quote_literal($1), 'null') using errcode = '22023';
    end if;
    if $2 is null or $2 not between 1 and 1000 then
        raise exception 'postbus.declare_kind: max_attempts of % is %; use 1 to 1000', $1, coalesce($2::text, 'null') using errcode = '22023';
    end if;
    if $3 is null or $3 not between interval '1 second' and interval '24 hours' then
        raise exception 'postbus.declare_kind: the lease of % is %; use 1 second to 24 hours', $1, coalesce($3::text, 'null') using errcode = '22023';
    end if;
    if cardinality(pauses) not between 1 and 1000
        or exists (select from unnest(pauses) as p where p is null or p not between interval '0' and interval '3650 days')
    then
        raise exception 'postbus.declare_kind: waits of %: give 1 to 1000 of 0 to 3650 days', $1 using errcode = '22023';
    end if;
    select k.app into owner_app
    from postbus.kinds as k
    where k.name = $1 and k.app is not null and k.seen_at > clock_timestamp() - interval '24 hours';
    if owner_app is not null then
        raise exception 'postbus.declare_kind: kind % belongs to application %', quote_literal($1), quote_literal(owner_app)
            using errcode = '42501', hint = 'Choose another name, or change the declaration there.';
    end if;
    insert into postbus.kinds as k (name, app, external, queue, max_attempts, lease_us, waits_us, description)
    values (
        $1, null, true, 'work.' || $1, $2, (extract(epoch from $3) * 1000000)::bigint,
        array(select (extract(epoch from p.wait) * 1000000)::bigint from unnest(pauses) with ordinality as p (wait, place) order by p.place),
        coalesce($5, '')
    )
    on conflict (name) do update
    set app = null, external = true, queue = excluded.queue, max_attempts = excluded.max_attempts, lease_us = excluded.lease_us,
        waits_us = excluded.waits_us, description = excluded.description, seen_at = clock_timestamp();
end
$$;

comment on function postbus.declare_kind(text, integer, interval, interval[], text) is
    'Declares a kind whose jobs workers claim with postbus.claim_work. waits are those after each failed attempt, the last for all that follow.';

-- Declares a subscription whose jobs workers claim. Its app is nobody's, and it does not expire.
create function postbus.declare_subscription(
    name text, types text[], max_attempts integer default 8, lease interval default '1 minute', waits interval[] default null,
    coalesces boolean default false, description text default ''
)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    wrong text;
    owner_app text;
begin
    if coalesce(cardinality($2), 0) = 0 or array_ndims($2) > 1 or array_position($2, null) is not null then
        raise exception 'postbus.declare_subscription: % names no types: use ''*'' for all', coalesce(quote_literal($1), 'null') using errcode = '22023';
    end if;
    select g.glob into wrong
    from unnest($2) as g (glob)
    where g.glob <> '*' and g.glob !~ '^[a-z0-9_]+(\.[a-z0-9_]+)*(\.\*)?$'
    limit 1;
    if wrong is not null then
        raise exception 'postbus.declare_subscription: %: use a type''s name, a dotted prefix and ".*", or "*"', quote_literal(wrong) using errcode = '22023';
    end if;
    select g.glob into wrong
    from unnest($2) as g (glob)
    where g.glob <> '*' and not exists (
        select from postbus.event_types as t
        where t.name = g.glob or right(g.glob, 2) = '.*' and starts_with(t.name, left(g.glob, -1))
    )
    limit 1;
    if wrong is not null then
        raise exception 'postbus.declare_subscription: % matches no declared event type', quote_literal(wrong) using errcode = '22023',
            hint = 'Declare the type first: select postbus.declare_type(...).';
    end if;
    select s.app into owner_app from postbus.subscriptions as s where s.name = $1 and s.app <> '(by-hand)' limit 1;
    if owner_app is not null then
        raise exception 'postbus.declare_subscription: subscription % belongs to application %', quote_literal($1), quote_literal(owner_app)
            using errcode = '42501', hint = 'Choose another name, or change the declaration there.';
    end if;
    perform postbus.declare_kind($1, $3, $4, $5, $7);
    insert into postbus.subscriptions as s (name, declaration, app, types, coalesces, queue, max_attempts)
    values ($1, '(by-hand)', '(by-hand)', $2, coalesce($6, false), 'work.' || $1, $3)
    on conflict on constraint subscriptions_pkey do update
    set types = excluded.types, coalesces = excluded.coalesces, max_attempts = excluded.max_attempts, seen_at = clock_timestamp();
end
$$;

comment on function postbus.declare_subscription(text, text[], integer, interval, interval[], boolean, text) is
    'Declares who is told of which events: each makes a job of this name that workers claim with postbus.claim_work.';

-- Takes back what declare_kind or declare_subscription declared. Jobs that are there stay, and can be cancelled.
create function postbus.retire_kind(kind text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    delete from postbus.kinds as k where k.name = $1 and k.app is null;
    if not found then
        raise exception 'postbus.retire_kind: kind % is not declared in SQL', coalesce(quote_literal($1), 'null') using errcode = '22023';
    end if;
    delete from postbus.subscriptions as s where s.name = $1 and s.app = '(by-hand)';
end
$$;

-- Makes a job through the outbox: it is there if and only if the calling transaction commits, whatever queue Postbus has.
create function postbus.enqueue(kind text, args json default '{}', run_at timestamptz default null, owner text default 'postbus')
returns uuid
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    recorded uuid;
    known postbus.kinds;
    bytes integer := octet_length($2::text);
    most integer := (select s.value::integer from postbus.settings as s where s.name = 'max_data_bytes');
begin
    select * into known from postbus.kinds as k
    where k.name = $1 and (k.app is null or k.seen_at > clock_timestamp() - interval '24 hours');
    if known.name is null then
        raise exception 'postbus.enqueue: kind % is not declared', coalesce(quote_literal($1), 'null') using errcode = '22023',
            hint = 'Start the application that declares it, or declare an external kind with select postbus.declare_kind(...).';
    end if;
    if $2 is null or json_typeof($2) <> 'object' then
        raise exception 'postbus.enqueue: args of kind % must be a JSON object', quote_literal($1) using errcode = '22023';
    end if;
    if bytes > most then
        raise exception 'postbus.enqueue: args of kind % are % bytes; the limit is % bytes', quote_literal($1), bytes, most
            using errcode = '22023', hint = 'Pass keys and let the worker read the rest.';
    end if;
    if position('\u0000' in $2::text) > 0 and $2::text ~ '(^|[^\\])(\\\\)*\\u0000' then
        raise exception 'postbus.enqueue: args of kind % hold \u0000, which Postgres cannot store as text', quote_literal($1) using errcode = '22P05';
    end if;
    if $3 not between timestamptz '1970-01-01 00:00:00+00' and timestamptz '9999-01-01 00:00:00+00' then
        raise exception 'postbus.enqueue: run_at is %; use 1970 to 9998, or null for at once', $3 using errcode = '22023';
    end if;
    if coalesce($4, '') = '' then
        raise exception 'postbus.enqueue: the owner must not be empty; leave it out for postbus' using errcode = '22023';
    end if;
    insert into postbus.events as e (type, owner_id, subject, data, trace)
    values (
        'postbus.enqueue', $4, $1,
        json_build_object(
            'kind', $1, 'queue', known.queue, 'max_attempts', known.max_attempts, 'run_at', $3, 'args', $2
        ),
        nullif(current_setting('postbus.trace', true), '')
    )
    returning e.id into recorded;
    return recorded;
end
$$;

comment on function postbus.enqueue(text, json, timestamptz, text) is
    'Makes a job of a declared kind, in any language, if and only if the calling transaction commits. Answers the id of its event.';

revoke all on function
    postbus.claim_work(text[], text, integer, interval), postbus.see_worker(text, text[]), postbus.extend_work(text, interval),
    postbus.complete_work(text, json), postbus.fail_work(text, text, text, interval),
    postbus.declare_kind(text, integer, interval, interval[], text),
    postbus.declare_subscription(text, text[], integer, interval, interval[], boolean, text),
    postbus.retire_kind(text), postbus.enqueue(text, json, timestamptz, text)
from public;

-- A role that may work and nothing else, where the migrating role may make roles; see postbus_writer.
do $$
begin
    if not exists (select from pg_catalog.pg_roles as r where r.rolname = 'postbus_worker') then
        create role postbus_worker nologin;
    end if;
    grant usage on schema postbus to postbus_worker;
    grant execute on function
        postbus.claim_work(text[], text, integer, interval), postbus.extend_work(text, interval),
        postbus.complete_work(text, json), postbus.fail_work(text, text, text, interval)
    to postbus_worker;
    grant execute on function postbus.enqueue(text, json, timestamptz, text) to postbus_writer;
exception
    when insufficient_privilege or unique_violation or duplicate_object or undefined_object then
        raise notice 'postbus_worker was not made or granted: %', sqlerrm;
end
$$;
