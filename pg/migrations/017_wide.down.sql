-- Events keep the jobs they have; a wide job that has not ended cannot be run by an older program.

alter table postbus.subscriptions drop column batch;
