-- jobs/river/extras.sql as it was when migration 006 was the newest.
-- What this adapter wants beside River's own tables. Runs at every boot, under the migration lock. Each part looks first
-- whether it was done: "create index if not exists" would wait for every open transaction that has enqueued, and everybody
-- would wait behind it.
do $$
begin
    -- A job has three versions in its life (available, running, ended) and each gets an entry in every index that covers
    -- it. River's indexes cover ended jobs too, and everybody's metadata. These take their place.
    if to_regclass('postbus.postbus_job_fetching') is null then
        create index postbus_job_fetching on postbus.river_job (state, queue, priority, scheduled_at, id)
        where state in ('available', 'pending', 'retryable', 'running', 'scheduled');
    end if;
    if to_regclass('postbus.postbus_job_kind') is null then
        create index postbus_job_kind on postbus.river_job (kind, id);
    end if;
    if to_regclass('postbus.river_job_prioritized_fetching_index') is not null then
        drop index postbus.river_job_prioritized_fetching_index;
    end if;
    if to_regclass('postbus.river_job_kind') is not null then
        drop index postbus.river_job_kind;
    end if;
    if to_regclass('postbus.river_job_metadata_index') is not null then
        drop index postbus.river_job_metadata_index;
    end if;

    -- Args by containment: one entry a value, where River's index has one for each key besides.
    if to_regclass('postbus.postbus_job_args') is null then
        create index postbus_job_args on postbus.river_job using gin (args jsonb_path_ops);
    end if;
    if to_regclass('postbus.river_job_args_index') is not null then
        drop index postbus.river_job_args_index;
    end if;

    -- Jobs that need a worker or an operator, per kind.
    if to_regclass('postbus.postbus_job_open') is null then
        create index postbus_job_open on postbus.river_job (kind, state)
        where state in ('available', 'discarded', 'pending', 'retryable', 'running', 'scheduled');
    end if;

    -- Parked jobs by the time at which they fall due.
    if to_regclass('postbus.postbus_job_due') is null then
        create index postbus_job_due on postbus.river_job (scheduled_at)
        where state in ('scheduled', 'retryable');
    end if;

    -- Failures that nobody has taken note of.
    if to_regclass('postbus.postbus_job_unacked') is null then
        create index postbus_job_unacked on postbus.river_job (id)
        where state = 'discarded' and not metadata ? 'acknowledged_at';
    end if;

    -- A tenant's jobs.
    if to_regclass('postbus.postbus_job_owner') is null then
        create index postbus_job_owner on postbus.river_job ((metadata ->> 'owner'), id)
        where metadata ? 'owner';
    end if;

    -- Every job is updated twice and deleted once: vacuum early, at a fixed number of dead rows.
    if not exists (
        select from pg_catalog.pg_class c
        where c.oid = 'postbus.river_job'::regclass and c.reloptions @> array['autovacuum_vacuum_threshold=2000']
    ) then
        alter table postbus.river_job set (
            autovacuum_vacuum_threshold = 2000,
            autovacuum_vacuum_scale_factor = 0.0,
            autovacuum_vacuum_insert_threshold = 20000,
            autovacuum_vacuum_insert_scale_factor = 0.0,
            autovacuum_analyze_threshold = 5000,
            autovacuum_analyze_scale_factor = 0.02,
            autovacuum_vacuum_cost_delay = 1
        );
    end if;
end
$$;
