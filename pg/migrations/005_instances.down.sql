-- Without heartbeats nobody can tell the living from the dead: jobs of a dead process stay running.
drop table postbus.instances;
