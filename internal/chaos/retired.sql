-- Events that retention removed are moved here, in its transaction, so that the end can still be compared with the beginning.
-- events: none (a copy)
create table app.retired (like postbus.events);

create function app.retire() returns trigger language plpgsql as $$
begin
    insert into app.retired select old.*;
    return null;
end
$$;

create trigger retire after delete on postbus.events for each row execute function app.retire();

-- All events that there ever were. The checker reads a copy of it, app.outbox.
create view app.all_events as
select id, seq, type, subject, fanned_out_at, fanout, poisoned_at from postbus.events where type in ('order.placed', 'order.captured')
union all
select id, seq, type, subject, fanned_out_at, fanout, poisoned_at from app.retired where type in ('order.placed', 'order.captured');
