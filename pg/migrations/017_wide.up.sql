-- Wide jobs: a subscription may have one job for several events of a pass.

alter table postbus.subscriptions
add column batch int not null default 0, -- how many events a job has at most; 0 or 1 where each has its own
add constraint subscriptions_batch_range check (batch between 0 and 1000);
