package rig

import _ "embed"

//go:embed schema.sql
var schemaSQL string

const (
	versionSQL      = `select current_setting('server_version')`
	transactionsSQL = `select xact_commit + xact_rollback from pg_stat_database where datname = $1`
	// writtenTablesSQL lists those of the tables that there are.
	writtenTablesSQL = `
select string_agg(name, ', ')
from unnest(array[
    'bench.notes', 'bench.plain', 'postbus.events', 'postbus.river_job', 'riverdirect.river_job',
    'postbus.webhook_endpoints', 'postbus.webhook_secrets', 'postbus.webhook_deliveries', 'postbus.webhook_fanouts',
    'postbus.webhook_slots', 'postbus.webhook_attempts'
]) as name
where to_regclass(name) is not null`
	costSQL = `
select pg_backend_pid(), (pg_current_wal_insert_lsn() - '0/0')::bigint,
    (select coalesce(sum(n_tup_upd + n_tup_del), 0) from pg_stat_user_tables)::bigint`
)
