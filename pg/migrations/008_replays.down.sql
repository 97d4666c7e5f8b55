-- Replays that run end where they are; the jobs that they made stay.
drop table postbus.replayed;
drop table postbus.replays;
