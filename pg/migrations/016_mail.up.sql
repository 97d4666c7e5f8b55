-- Mail: the rules that say which events are told to whom, the mails that came of them, and the slots that space them out.

-- Which events are mailed to whom, and how the mail reads. A rule may be written by operations, by an application's Config (app names
-- it) or in SQL: the triggers below keep the subscription mail.rules in step with it.
-- events: none (settings; the audit has who changed them)
create table postbus.mail_rules (
    id uuid not null default gen_random_uuid(),
    app text collate "C" not null default '', -- the application whose Config declares it, '' for none
    name text collate "C" not null,
    owner_id text collate "C" not null default '', -- '' for the events of all owners
    types text[] not null,
    recipients text[] not null, -- addresses, and "data.<key>" for those that the event's data name
    subject text not null,
    text_body text not null,
    html_body text not null default '',
    burst integer not null default 1000, -- mails in one window
    enabled boolean not null default true,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    constraint mail_rules_pkey primary key (id),
    constraint mail_rules_types_count check (cardinality(types) between 1 and 100),
    constraint mail_rules_recipients_count check (cardinality(recipients) between 1 and 50),
    constraint mail_rules_burst_range check (burst between 1 and 1000000)
);

create unique index mail_rules_declared_key on postbus.mail_rules (app, name) where app <> '';
create index mail_rules_owner_idx on postbus.mail_rules (owner_id, id);

-- One mail for each rule, event and recipient, for as long as the event is kept: by this constraint a repetition of the fan-out mails
-- nobody twice. It is sent first and marked afterwards.
-- events: none (bookkeeping of sending; a mail that fails is a discarded job, which raises an alert)
create table postbus.mails (
    id bigint not null generated always as identity,
    rule_id uuid not null,
    rule_name text not null,
    event_id uuid not null,
    event_type text collate "C" not null,
    owner_id text collate "C" not null,
    recipient text collate "C" not null, -- the address, or what was refused as one
    recipient_name text not null default '',
    message_id text collate "C" not null, -- without the angle brackets, and without a host before the first attempt; the same over all attempts
    refused boolean not null default false, -- recipient is no address; reason says why
    test boolean not null default false, -- sent by hand
    state text not null default 'sending',
    reason text,
    attempts integer not null default 0,
    job_id text,
    rule_slot_at timestamptz, -- the rule's window in which it was let go
    slot_at timestamptz, -- the recipient's window in which it may be sent
    created_at timestamptz not null default clock_timestamp(),
    settled_at timestamptz,
    constraint mails_pkey primary key (id),
    constraint mails_once unique (event_id, rule_id, recipient),
    constraint mails_message_once unique (event_id, recipient, message_id),
    constraint mails_state_known check (state in ('sending', 'sent', 'failed'))
);

create index mails_owner_idx on postbus.mails (owner_id, id);
create index mails_rule_idx on postbus.mails (rule_id, id);
create index mails_recipient_idx on postbus.mails (recipient, id);
create index mails_unsent_idx on postbus.mails (state, id) where state <> 'sent';

-- The window that a recipient's or a rule's mails are filling, and how many of its slots are taken. Windows before it are full or over.
-- events: none (counters)
create table postbus.mail_slots (
    scope text collate "C" not null,
    key text collate "C" not null,
    opens_at timestamptz not null,
    taken integer not null,
    constraint mail_slots_pkey primary key (scope, key),
    constraint mail_slots_scope_known check (scope in ('recipient', 'rule'))
);

-- The subscription mail.rules has the types of all enabled rules, from their commit on: where there are none, no event makes a job for
-- mail. Changes of rules go one after the other, so that none is overwritten by one that did not see it.
create function postbus.lock_mail_rules() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform pg_advisory_xact_lock(5287002951004851);
    return null;
end
$$;

create function postbus.subscribe_mail_rules() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    globs text[];
begin
    select array_agg(distinct g.glob order by g.glob) into globs
    from postbus.mail_rules as r, unnest(r.types) as g (glob)
    where r.enabled;
    if globs is null then
        delete from postbus.subscriptions where name = 'mail.rules';
        return null;
    end if;
    insert into postbus.subscriptions as s (name, declaration, app, types, coalesces, queue, max_attempts, effect)
    values ('mail.rules', 'mail.rules', '', globs, false, 'mail_rules', 1000, 'mail')
    on conflict (name, declaration) do update set types = excluded.types where s.types <> excluded.types;
    return null;
end
$$;

create trigger mail_rules_one_by_one before insert or update or delete on postbus.mail_rules
for each statement execute function postbus.lock_mail_rules();

create trigger mail_rules_subscribe after insert or update or delete on postbus.mail_rules
for each statement execute function postbus.subscribe_mail_rules();

insert into postbus.event_types (name, description, subject) values
('mail.test', 'A test mail that was asked for by hand', 'rule id')
on conflict (name) do nothing;
