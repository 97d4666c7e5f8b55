create table back (id bigint);
