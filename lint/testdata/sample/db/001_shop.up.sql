-- events: emit
create table shop.orders (id bigint);

-- Why it is there.
-- events: emit
CREATE TABLE IF NOT EXISTS "carts" (id bigint);

-- events: emit
create table lost (id bigint); -- want events

create table silent (id bigint); -- want events

-- events: none
create table vague (id bigint); -- want events

-- events: none ( )
create table hollow (id bigint); -- want events

-- events: none (a cache)
create unlogged table cached (id bigint);

-- events: emit

create table apart (id bigint); -- want events

-- events: emit
create table heard (id bigint);
create function tell() returns trigger language plpgsql as $$ begin perform postbus.record('a', 'b', 'c', '{}'); return new; end $$;
create trigger tells after insert or update on heard for each row execute function tell();

-- events: emit
create table unheard (id bigint); -- want events
create function mutter() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger mutters after insert on unheard for each row execute function mutter();

-- events: emit
create table scripted (id bigint);
-- create table commented (id bigint);
create temp table passing (id bigint);
select 'a
create table quoted (id bigint)';
