-- Takes back 009_operations.
drop table postbus.shared_keys;
drop table postbus.accounts;
drop table postbus.tokens;
drop table postbus.audit;
