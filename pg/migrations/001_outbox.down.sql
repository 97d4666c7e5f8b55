-- Drops every event that was ever recorded.
drop table postbus.events;
