-- Takes back 016_mail.
drop table postbus.mail_rules;
drop table postbus.mails;
drop table postbus.mail_slots;
drop function postbus.subscribe_mail_rules();
drop function postbus.lock_mail_rules();
delete from postbus.subscriptions where name = 'mail.rules';
delete from postbus.event_types where name = 'mail.test' and app is null;
