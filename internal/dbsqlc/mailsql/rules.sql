-- name: InsertRule :one
insert into postbus.mail_rules (app, name, owner_id, types, recipients, subject, text_body, html_body, burst, enabled)
values (@app, @name, @owner_id, @types, @recipients, @subject, @text_body, @html_body, @burst, @enabled)
returning *;

-- name: RuleByID :one
select * from postbus.mail_rules where id = @id;

-- name: LockRule :one
select * from postbus.mail_rules where id = @id for update;

-- name: ListRules :many
select *
from postbus.mail_rules
where (@owner_id::text = '' or owner_id = @owner_id)
    and (sqlc.narg(only_enabled)::boolean is null or enabled = sqlc.narg(only_enabled))
    and (sqlc.narg(after)::uuid is null or id > sqlc.narg(after))
order by id
limit @page_size;

-- name: CountRules :one
select count(*) from postbus.mail_rules where owner_id = @owner_id;

-- name: UpdateRule :one
update postbus.mail_rules
set
    name = @name, types = @types, recipients = @recipients, subject = @subject, text_body = @text_body, html_body = @html_body,
    burst = @burst, enabled = @enabled, updated_at = clock_timestamp()
where id = @id
returning *;

-- name: DeleteRule :execrows
delete from postbus.mail_rules where id = @id;

-- A rule that stands as it is declared is left alone.
-- name: DeclareRule :exec
insert into postbus.mail_rules as r (app, name, owner_id, types, recipients, subject, text_body, html_body, burst, enabled)
values (@app, @name, @owner_id, @types, @recipients, @subject, @text_body, @html_body, @burst, @enabled)
on conflict (app, name) where app <> '' do update
set
    owner_id = excluded.owner_id, types = excluded.types, recipients = excluded.recipients, subject = excluded.subject,
    text_body = excluded.text_body, html_body = excluded.html_body, burst = excluded.burst, enabled = excluded.enabled,
    updated_at = clock_timestamp()
where (r.owner_id, r.types, r.recipients, r.subject, r.text_body, r.html_body, r.burst, r.enabled)
    is distinct from (excluded.owner_id, excluded.types, excluded.recipients, excluded.subject, excluded.text_body, excluded.html_body,
        excluded.burst, excluded.enabled);

-- name: ForgetDeclaredRules :execrows
delete from postbus.mail_rules where app = @app::text and app <> '' and not name = any(@names::text[]);

-- Brings back the subscription where it was retired by hand while mail was off: an update of no column of no row runs the triggers.
-- name: Resubscribe :exec
update postbus.mail_rules set enabled = enabled where false;

-- The enabled rules for the events of an owner: its own and those for all.
-- name: RulesFor :many
select id, name, types, recipients from postbus.mail_rules where enabled and owner_id in ('', @owner_id::text) order by id;
