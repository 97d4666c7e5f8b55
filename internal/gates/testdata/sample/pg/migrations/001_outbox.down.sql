-- Drops every event.
drop table postbus.events;
