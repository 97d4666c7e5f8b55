-- Who may operate the bus, and what they did.

-- Every act, in the transaction that did it; failed acts too. input holds no secrets: the operations take them out.
-- events: none (a log, read by itself)
create table postbus.audit (
    id bigint not null generated always as identity,
    at timestamptz not null default clock_timestamp(),
    who text collate "C" not null,
    face text not null,
    operation text collate "C" not null,
    owner_id text collate "C" not null default '', -- of what was acted on, '' where it is about all
    input json not null,
    result text not null, -- ok, or the code of the error
    detail text not null default '',
    constraint audit_pkey primary key (id)
);

create index audit_owner_idx on postbus.audit (owner_id, id);
create index audit_who_idx on postbus.audit (who, id);
create index audit_act_idx on postbus.audit (who, operation, id);
create index audit_operation_idx on postbus.audit (operation, id);

-- API tokens. Only a hash is kept; prefix is what can be shown.
-- events: none (credentials; the audit has who changed them)
create table postbus.tokens (
    id uuid not null default gen_random_uuid(),
    prefix text collate "C" not null,
    hash bytea not null,
    name text not null,
    scopes text[] not null,
    owner_id text collate "C" not null default '', -- '' is all owners
    created_at timestamptz not null default clock_timestamp(),
    created_by text not null,
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz,
    constraint tokens_pkey primary key (id),
    constraint tokens_hash_key unique (hash)
);

-- Operators who log in. The password is hashed with argon2id.
-- events: none (credentials; the audit has who changed them)
create table postbus.accounts (
    id uuid not null default gen_random_uuid(),
    name text collate "C" not null,
    password text not null,
    scopes text[] not null,
    owner_id text collate "C" not null default '',
    created_at timestamptz not null default clock_timestamp(),
    last_login_at timestamptz,
    disabled_at timestamptz,
    constraint accounts_pkey primary key (id),
    constraint accounts_name_key unique (name)
);

-- Secrets that all processes of the database share, such as the one that signs confirmations. Made when first needed.
-- events: none (secrets)
create table postbus.shared_keys (
    name text collate "C" not null,
    value bytea not null,
    constraint shared_keys_pkey primary key (name)
);
