-- Without the trigger the relay finds events by polling.
drop trigger events_wake on postbus.events;
drop function postbus.wake_relay();
