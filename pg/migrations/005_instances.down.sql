drop table postbus.instances;
