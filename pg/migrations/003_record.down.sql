-- Callers in SQL can no longer record. The role postbus_writer stays: other databases of the cluster may use it.
drop function postbus.declare_type(text, text, text, text);
drop function postbus.record(text, text, text, json);
