-- The last step back. It fails while another's tables are in the schema: those of the job queue go first.
drop table postbus.migrations;
drop schema postbus;
