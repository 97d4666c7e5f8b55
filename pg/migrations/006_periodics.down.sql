-- Drops the history of every periodic.
drop table postbus.periodic_runs;
drop table postbus.periodics;
