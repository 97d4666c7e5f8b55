-- Takes back 007_webhooks.
delete from postbus.event_types where name in ('webhook.endpoint.disabled', 'webhook.test') and app is null;
drop index postbus.events_time_idx;
drop table postbus.webhook_attempts;
drop table postbus.webhook_slots;
drop table postbus.webhook_fanouts;
drop table postbus.webhook_deliveries;
drop table postbus.webhook_secrets;
drop table postbus.webhook_endpoints;
