-- Takes back 010_stats.
drop table postbus.stats;
