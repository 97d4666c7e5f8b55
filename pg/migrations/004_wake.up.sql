-- The wake-up. A NOTIFY makes commits queue behind one lock of the whole server, so it is sent only when no relay is on
-- duty: a busy relay holds the advisory lock 5287002951004850 on its listening connection, and this trigger probes it
-- when the transaction commits.

-- Runs as the committing role with its search_path: every name is qualified and no table is touched. Probe and release
-- are one expression, so that a cancel between them cannot leak the lock; it comes first, since while a relay is on duty it
-- is all that there is to do. What has notified once in a transaction (remembered in a setting local to it) does not again.
create function postbus.wake_relay()
returns trigger
language plpgsql
as $$
begin
    if (case
        when pg_catalog.pg_try_advisory_lock_shared(5287002951004850)
        then pg_catalog.pg_advisory_unlock_shared(5287002951004850)
        else false
    end) then
        if pg_catalog.current_setting('postbus.wake', true) is distinct from 'off'
            and pg_catalog.current_setting('postbus.woken', true)
                is distinct from pg_catalog.pg_current_xact_id()::text
        then
            perform pg_catalog.pg_notify('postbus_events', '');
            perform pg_catalog.set_config('postbus.woken', pg_catalog.pg_current_xact_id()::text, true);
        end if;
    end if;
    return null;
end
$$;

-- Probes at commit, for each row: 1 us a row. A condition that let one row of a transaction through was measured and costs
-- more than it saves: 50 us for every transaction, 5 us a row.
create constraint trigger events_wake
after insert on postbus.events
deferrable initially deferred
for each row
execute function postbus.wake_relay();
