-- Leases of jobs of external kinds, for the port (lease.go) and for postbus.claim_work and its kin in SQL. A lease is a run like
-- any other, named by the job's id and the time of its claim, to the microsecond: ID.MICROSECONDS. While the job runs, scheduled_at
-- is the end of its lease, which the index that finds what may run also finds by. Nobody but their owner may call these functions.
-- They are made anew when this file changes.

-- The queue of an external kind, as River has it.
create or replace function postbus.lease_queue(kind text) returns text
language sql immutable strict
set search_path = pg_catalog, pg_temp
as $$ select 'work|' || replace($1, '.', '|') $$;

-- Tells whoever fetches from the queue that it has something: River's producers, or workers that listen to postbus_work.
create or replace function postbus.wake_queue(queue text) returns text
language sql
as $$
    select case
        when pg_catalog.starts_with($1, 'work|')
        then pg_catalog.pg_notify('postbus_work', pg_catalog.replace(pg_catalog.substr($1, 6), '|', '.'))
        else pg_catalog.pg_notify('postbus.river_insert', pg_catalog.json_build_object('queue', $1)::text)
    end::text
$$;

-- Gives back the jobs of one queue, or (null) of every external kind's, whose lease has ended: the attempt is spent, and
-- where none is left the job is discarded.
create or replace function postbus.end_leases(queue text default null) returns setof json
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    at timestamptz := clock_timestamp();
    own text;
begin
    if $1 is null then
        for own in select distinct j.queue from postbus.river_job as j where j.state = 'running' and starts_with(j.queue, 'work|') loop
            return query select postbus.end_leases(own);
        end loop;
        return;
    end if;
    -- A look first: nearly always there is none, and the statement below need not even be planned.
    if not exists (select from postbus.river_job as j where j.state = 'running' and j.queue = $1 and j.scheduled_at <= at) then
        return;
    end if;
    return query
    with ended as (
        select j.id,
            case
                when j.metadata ? 'cancel_attempted_at' then 'cancelled'
                when j.attempt >= j.max_attempts then 'discarded'
                else 'available'
            end as state
        from postbus.river_job as j
        where j.state = 'running' and j.queue = $1 and j.scheduled_at <= at
        order by j.id
        limit 1000
        for update skip locked
    ),
    given as (
        update postbus.river_job as j
        set
            state = ended.state::postbus.river_job_state,
            scheduled_at = case when ended.state = 'available' then at else j.scheduled_at end,
            finalized_at = case when ended.state <> 'available' then at end,
            errors = array_append(j.errors, jsonb_build_object(
                'at', at, 'attempt', j.attempt, 'trace', '',
                'error', format('the lease ended: worker %s claimed the job at %s and did not settle or extend it in time',
                    j.attempted_by[cardinality(j.attempted_by)], j.attempted_at)
            ))
        from ended
        where j.id = ended.id
        returning j.id, j.kind, j.state, j.attempt
    )
    select json_build_object('id', given.id, 'kind', given.kind, 'state', given.state, 'attempt', given.attempt)
    from given;
end
$$;

-- Claims up to most jobs of the kinds for a worker, the longest waiting first. What others hold, and what waits in a paused queue, is passed by.
create or replace function postbus.lease_jobs(kinds text[], worker text, most integer, lease interval default null)
returns setof json
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    own text;
    held interval;
    left_over integer := $3;
    taken integer;
    at timestamptz;
begin
    for own in select distinct postbus.lease_queue(k) from unnest($1) as k loop
        perform postbus.end_leases(own);
    end loop;
    for own, held in
        select l.queue, coalesce($4, l.lease_us * interval '1 microsecond', interval '1 minute')
        from (
            select postbus.lease_queue(k.name) as queue, (
                select d.lease_us from postbus.kinds as d where d.name = k.name and d.external
            ) as lease_us
            from (select distinct unnest($1) as name) as k
        ) as l
        cross join lateral (
            select j.scheduled_at
            from postbus.river_job as j
            where j.state = 'available' and j.queue = l.queue
            order by j.priority, j.scheduled_at, j.id
            limit 1
        ) as head
        where not exists (select from postbus.river_queue as q where q.name = l.queue and q.paused_at is not null)
        order by head.scheduled_at
    loop
        exit when left_over < 1;
        at := clock_timestamp();
        return query
        with due as (
            select j.id
            from postbus.river_job as j
            where j.state = 'available' and j.queue = own and j.scheduled_at <= at
            order by j.priority, j.scheduled_at, j.id
            limit left_over
            for update skip locked
        ),
        claimed as (
            update postbus.river_job as j
            set
                state = 'running',
                attempt = j.attempt + 1,
                attempted_at = at,
                attempted_by = array_append(j.attempted_by[greatest(cardinality(j.attempted_by) - 98, 1):], $2),
                scheduled_at = at + held
            from due
            where j.id = due.id
            returning j.id, j.kind, j.args, j.metadata, j.attempt, j.max_attempts, j.attempted_at, j.scheduled_at
        )
        select json_build_object(
            'lease', c.id || '.' || (extract(epoch from c.attempted_at) * 1000000)::bigint, 'until', c.scheduled_at,
            'job', c.id::text, 'kind', c.kind, 'args', coalesce((c.metadata ->> 'args')::json, c.args::json),
            'owner', coalesce(c.metadata ->> 'owner', ''), 'trace', coalesce(c.metadata ->> 'trace', ''),
            'attempt', c.attempt, 'max_attempts', c.max_attempts
        )
        from claimed as c
        order by c.id;
        get diagnostics taken = row_count;
        left_over := left_over - taken;
    end loop;
end
$$;

-- Locks the job of a lease that still holds; the error says why another does not.
create or replace function postbus.held_lease(lease text) returns postbus.river_job
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    job postbus.river_job;
begin
    if $1 is null or $1 !~ '^[1-9][0-9]{0,17}\.[1-9][0-9]{0,17}$' then
        raise exception '% is no lease: give the id that the claim answered', coalesce(quote_literal($1), 'null') using errcode = '22023';
    end if;
    select * into job from postbus.river_job as j where j.id = split_part($1, '.', 1)::bigint for update;
    if job.id is null then
        raise exception 'the lease % is lost: its job is not there any more', $1 using errcode = 'PB001';
    end if;
    if (extract(epoch from job.attempted_at) * 1000000)::bigint is distinct from split_part($1, '.', 2)::bigint
        or not starts_with(job.queue, 'work|') or job.state not in ('running', 'completed')
    then
        raise exception 'the lease % is lost: its job is % now, attempt % of %', $1, job.state, job.attempt, job.max_attempts
            using errcode = 'PB001', hint = 'What was done under it must not count. Extend a lease before it ends.';
    end if;
    return job;
end
$$;

create or replace function postbus.extend_lease(lease text, wanted interval) returns timestamptz
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    job postbus.river_job := postbus.held_lease($1);
    until timestamptz := clock_timestamp() + $2;
begin
    if job.state = 'completed' then
        raise exception 'the lease % is lost: its job is completed', $1 using errcode = 'PB001';
    end if;
    if job.metadata ? 'cancel_attempted_at' then
        raise exception 'job % was asked to stop', job.id using errcode = 'PB002', hint = 'Let go of it: fail it, or let its lease end.';
    end if;
    update postbus.river_job as j set scheduled_at = until where j.id = job.id;
    return until;
end
$$;

-- Ends the attempt of a lease: completed, failed, discarded or snoozed. wait is the time until the next attempt, by default the kind's.
create or replace function postbus.settle_lease(lease text, verdict text, error text default '', wait interval default null, result json default null)
returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    job postbus.river_job := postbus.held_lease($1);
    at timestamptz := clock_timestamp();
    asked boolean := job.metadata ? 'cancel_attempted_at';
    waits bigint[];
    pause interval := $4;
    ends text;
    told boolean;
begin
    if job.state = 'completed' then
        if $2 = 'completed' then
            return 'completed';
        end if;
        raise exception 'the lease % is lost: its job is completed', $1 using errcode = 'PB001';
    end if;
    select k.waits_us, k.receipt into waits, told from postbus.kinds as k where k.name = job.kind;
    if $2 = 'failed' and pause is null then
        pause := coalesce(waits[least(greatest(job.attempt, 1), cardinality(waits))], 2000000) * interval '1 microsecond' * (0.9 + 0.2 * random());
    end if;
    ends := case
        when $2 = 'completed' then 'completed'
        when asked then 'cancelled'
        when $2 = 'discarded' or $2 = 'failed' and job.attempt >= job.max_attempts then 'discarded'
        when pause <= interval '5 seconds' then 'available'
        when $2 = 'failed' or cardinality(job.errors) > 0 then 'retryable'
        else 'scheduled'
    end;
    update postbus.river_job as j
    set
        state = ends::postbus.river_job_state,
        attempt = case when $2 = 'snoozed' and ends <> 'cancelled' then j.attempt - 1 else j.attempt end,
        scheduled_at = case when ends in ('completed', 'cancelled', 'discarded') then at else at + pause end,
        finalized_at = case when ends in ('completed', 'cancelled', 'discarded') then at end,
        errors = case
            when $3 = '' or $2 in ('completed', 'snoozed') then j.errors
            else array_append(j.errors, jsonb_build_object('at', at, 'attempt', j.attempt, 'error', $3, 'trace', ''))
        end,
        metadata = j.metadata
            || case when $2 = 'snoozed'
                then jsonb_build_object('snoozes', coalesce((j.metadata ->> 'snoozes')::int, 0) + 1) else '{}' end
            || case when $5 is not null and ends = 'completed' then jsonb_build_object('result', $5::text) else '{}' end
    where j.id = job.id;
    if told and ends in ('completed', 'cancelled', 'discarded') then
        perform pg_notify('postbus_settled', job.id::text);
    end if;
    return case when ends = 'available' and ($2 = 'failed' or cardinality(job.errors) > 0) then 'retryable' when ends in ('available', 'scheduled') then 'pending' else ends end;
end
$$;

revoke all on function postbus.lease_queue(text), postbus.wake_queue(text), postbus.end_leases(text), postbus.lease_jobs(text[], text, integer, interval),
    postbus.held_lease(text), postbus.extend_lease(text, interval), postbus.settle_lease(text, text, text, interval, json) from public;
