-- The wake-up. A NOTIFY makes commits queue behind one lock of the whole server, so it is sent only when no relay is on
-- duty: a busy relay holds the advisory lock 5287002951004850 on its listening connection, and this trigger probes it
-- when the transaction commits.

-- Runs as the committing role with its search_path: every name is qualified and no table is touched. Probe and release
-- are one expression, so that a cancel between them cannot leak the lock.
create function postbus.wake_relay()
returns trigger
language plpgsql
as $$
begin
    if pg_catalog.current_setting('postbus.wake', true) is not distinct from 'off' then
        return null;
    end if;
    if (case
        when pg_catalog.pg_try_advisory_lock_shared(5287002951004850)
        then pg_catalog.pg_advisory_unlock_shared(5287002951004850)
        else false
    end) then
        perform pg_catalog.pg_notify('postbus_events', '');
    end if;
    return null;
end
$$;

-- Queued once per transaction, not once per row: the condition remembers the transaction in a setting that is local to it
-- (and to its savepoint, so that a rollback forgets both), and a 100,000-row statement queues one call.
create constraint trigger events_wake
after insert on postbus.events
deferrable initially deferred
for each row
when (
    case
        when pg_catalog.current_setting('postbus.wake_xact', true)
            is not distinct from pg_catalog.pg_current_xact_id()::text
        then false
        else pg_catalog.set_config('postbus.wake_xact', pg_catalog.pg_current_xact_id()::text, true) is not null
    end
)
execute function postbus.wake_relay();
