-- Acts that run end where they are; what they have changed stays.
drop table postbus.bulk_acts;
