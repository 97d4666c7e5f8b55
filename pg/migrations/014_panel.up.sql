-- Who is logged in to the Tasks panel. A session's token is kept as a hash, and so is that of a link which logs in once.

-- events: none (credentials)
create table postbus.sessions (
    token text collate "C" not null,
    data bytea not null,
    expires_at timestamptz not null,
    constraint sessions_pkey primary key (token)
);

create index sessions_expiry_idx on postbus.sessions (expires_at);

-- events: none (credentials)
create table postbus.login_links (
    hash bytea not null,
    account text collate "C" not null,
    expires_at timestamptz not null,
    constraint login_links_pkey primary key (hash)
);
