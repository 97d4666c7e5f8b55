-- Takes back 011_alerts. Alerts can still be read; nobody is told of them.
delete from postbus.event_types where name in ('postbus.alert.raised', 'postbus.alert.cleared') and app is null;
drop table postbus.alert_looks;
drop table postbus.alerts;
