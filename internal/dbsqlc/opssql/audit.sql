-- Written in the act's transaction: both commit or neither does.
-- name: InsertAudit :exec
insert into postbus.audit (who, face, operation, owner_id, input, result, detail)
values (@who, @face, @operation, @owner_id, @input, @result, @detail);

-- A page of the log, newest first; before is the keyset (0 on the first page).
-- name: ListAudit :many
select id, at, who, face, operation, owner_id, input, result, detail
from postbus.audit
where
    (@before::bigint = 0 or id < @before)
    and (@owner_id::text = '' or owner_id = @owner_id)
    and (@who::text = '' or who = @who)
    and (@operation::text = '' or operation = @operation)
    and (sqlc.narg(since)::timestamptz is null or at >= sqlc.narg(since))
    and (sqlc.narg(until)::timestamptz is null or at < sqlc.narg(until))
order by id desc
limit @page_size;
