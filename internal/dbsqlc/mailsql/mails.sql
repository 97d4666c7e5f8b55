-- Adds the mails of an event that are not there yet: a repetition of the fan-out adds nothing. The first mail of an event to a recipient
-- has the event's id in its Message-ID, those of further rules a number behind it, so that no mail program takes one for the other.
-- name: InsertMails :many
insert into postbus.mails (
    rule_id, rule_name, event_id, event_type, owner_id, recipient, recipient_name, message_id, refused, reason, test
)
select
    n.rule_id, n.rule_name, @event_id, @event_type, @owner_id, n.recipient, n.recipient_name,
    @event_id::uuid || coalesce('.' || nullif(
        (select count(*) from postbus.mails as m where m.event_id = @event_id and m.recipient = n.recipient)
        + row_number() over (partition by n.recipient order by n.rule_id), 1), ''),
    n.reason <> '', nullif(n.reason, ''), @test
from (
    select
        unnest(@rule_ids::uuid[]) as rule_id,
        unnest(@rule_names::text[]) as rule_name,
        unnest(@recipients::text[]) as recipient,
        unnest(@recipient_names::text[]) as recipient_name,
        unnest(@reasons::text[]) as reason
) as n
where not exists (
    select from postbus.mails as m where m.event_id = @event_id and m.rule_id = n.rule_id and m.recipient = n.recipient
)
on conflict on constraint mails_once do nothing
returning id, rule_id;

-- name: SetMailJobs :exec
update postbus.mails as m set job_id = j.job_id
from (select unnest(@ids::bigint[]) as id, unnest(@job_ids::text[]) as job_id) as j
where m.id = j.id;

-- name: MailByID :one
select * from postbus.mails where id = @id;

-- name: LockMail :one
select sqlc.embed(m),
    coalesce(extract(epoch from m.rule_slot_at - clock_timestamp()), 0)::float8 as rule_wait_seconds,
    coalesce(extract(epoch from m.slot_at - clock_timestamp()), 0)::float8 as wait_seconds,
    (m.slot_at is null or m.slot_at + make_interval(secs => @window_seconds::float8) <= clock_timestamp())::boolean as needs_slot
from postbus.mails as m
where m.id = @id
for update;

-- name: SetRuleSlot :exec
update postbus.mails set rule_slot_at = @slot_at where id = @id;

-- name: SetSlot :exec
update postbus.mails set slot_at = @slot_at where id = @id;

-- The first attempt settles the host in the Message-ID, which stays for all that follow.
-- name: BeginAttempt :one
update postbus.mails
set
    attempts = attempts + 1, state = 'sending', reason = null, settled_at = null,
    message_id = case when strpos(message_id, '@') > 0 then message_id else message_id || '@' || @host::text end
where id = @id
returning attempts, message_id;

-- name: MarkSent :exec
update postbus.mails set state = 'sent', reason = null, settled_at = clock_timestamp() where id = @id;

-- What was sent stays sent.
-- name: MarkFailed :exec
update postbus.mails set state = 'failed', reason = @reason, settled_at = clock_timestamp() where id = @id and state <> 'sent';

-- name: MarkTrouble :exec
update postbus.mails set reason = @reason where id = @id and state = 'sending';

-- The id down to which a page looks that asks for more than an index answers; 0 for all.
-- name: LookAtMails :one
select coalesce(min(l.id), 0)::bigint as floor_id
from (
    select m.id
    from postbus.mails as m
    where (@before_id::bigint = 0 or m.id < @before_id)
        and (@owner_id::text = '' or m.owner_id = @owner_id)
        and (sqlc.narg(rule_id)::uuid is null or m.rule_id = sqlc.narg(rule_id))
        and (@recipient::text = '' or m.recipient = @recipient)
    order by m.id desc
    limit @look
) as l
having count(*) = @look;

-- name: ListMails :many
select *
from postbus.mails
where (@before_id::bigint = 0 or id < @before_id)
    and id >= @from_id::bigint
    and (@owner_id::text = '' or owner_id = @owner_id)
    and (sqlc.narg(rule_id)::uuid is null or rule_id = sqlc.narg(rule_id))
    and (sqlc.narg(event_id)::uuid is null or event_id = sqlc.narg(event_id))
    and (@recipient::text = '' or recipient = @recipient)
    and (cardinality(@states::text[]) = 0 or state = any(@states))
order by id desc
limit @page_size;

-- Mails that should be on their way, with their jobs: whoever asks finds out whether these still run.
-- name: UnsettledMails :many
select id, job_id
from postbus.mails
where state = 'sending' and id > @after_id and created_at < clock_timestamp() - make_interval(secs => @older_seconds::float8)
order by id
limit @batch_size;

-- name: AbandonMails :execrows
update postbus.mails set state = 'failed', reason = @reason, settled_at = clock_timestamp()
where id = any(@ids::bigint[]) and state = 'sending';

-- name: HeldEvents :many
select distinct event_id
from postbus.mails
where event_id = any(@event_ids::uuid[])
    and (state = 'sending' or state = 'failed' and settled_at > clock_timestamp() - make_interval(secs => @grace_seconds::float8));

-- name: DeleteMailsOf :exec
delete from postbus.mails where event_id = any(@event_ids::uuid[]);
