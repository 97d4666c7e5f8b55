-- Drops the mirror; every application fills it again at its next boot, types declared in SQL are lost.
drop table postbus.settings;
drop table postbus.subscriptions;
drop table postbus.event_types;
