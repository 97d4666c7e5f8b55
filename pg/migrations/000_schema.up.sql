-- The schema that holds all of Postbus, named in every statement. It is not run where an administrator has made the
-- schema already: the role that migrates then needs no right to create one.
create schema if not exists postbus;
revoke all on schema postbus from public;
