-- Workers in any language, and postbus.enqueue, are gone; jobs of external kinds stay and wait for nobody.
drop function postbus.enqueue(text, json, timestamptz, text);
drop function postbus.retire_kind(text);
drop function postbus.declare_subscription(text, text[], integer, interval, interval[], boolean, text);
drop function postbus.declare_kind(text, integer, interval, interval[], text);
drop function postbus.fail_work(text, text, text, interval);
drop function postbus.complete_work(text, json);
drop function postbus.extend_work(text, interval);
drop function postbus.see_worker(text, text[]);
drop function postbus.claim_work(text[], text, integer, interval);
delete from postbus.subscriptions where app = '(by-hand)';
drop table postbus.workers;
drop table postbus.kinds;
