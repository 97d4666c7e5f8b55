package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// oldestServer is the first Postgres that has what the SQL uses, as server_version_num.
const oldestServer = 140000

// server is what a migration must know of the database before it begins.
type server struct {
	version    int    // such as 150004
	named      string // such as "15.4"
	standby    bool
	role       string
	database   string
	hasSchema  bool
	mayProceed bool // the role may create the schema, or create in it
}

func inspect(ctx context.Context, db DBTX) (s server, err error) {
	const sql = `
		select
			current_setting('server_version_num')::int, current_setting('server_version'), pg_is_in_recovery(),
			current_user::text, current_database()::text, n.oid is not null,
			case
				when n.oid is null then has_database_privilege(current_database(), 'create')
				else has_schema_privilege(n.oid, 'create') and has_schema_privilege(n.oid, 'usage')
			end
		from (select to_regnamespace('postbus')::oid as oid) as n`
	err = db.QueryRow(ctx, sql).Scan(&s.version, &s.named, &s.standby, &s.role, &s.database, &s.hasSchema, &s.mayProceed)
	return s, err
}

// IsStandby says that the server only reads, as an old primary may do after a failover.
func IsStandby(ctx context.Context, db DBTX) (standby bool, err error) {
	err = db.QueryRow(ctx, "select pg_is_in_recovery()").Scan(&standby)
	return standby, err
}

// check refuses a database that cannot be migrated, and says what helps.
func (s server) check() error {
	switch role, database := quoteName(s.role), quoteName(s.database); {
	case s.version < oldestServer:
		return fmt.Errorf("this is Postgres %s; 14 or newer is needed", s.named)
	case s.standby:
		return fmt.Errorf("this server is a standby and takes no writes: connect to the primary")
	case !s.mayProceed && s.hasSchema:
		return fmt.Errorf("role %s may not create tables in schema postbus of database %s; its owner can allow it: "+
			"grant usage, create on schema postbus to %s", role, database, role)
	case !s.mayProceed:
		return fmt.Errorf("role %s may not create the schema postbus in database %s; an administrator can: "+
			"create schema postbus authorization %s", role, database, role)
	}
	return nil
}

// explain adds to a refusal who was refused where.
func (s server) explain(err error) error {
	if s.role == "" || !isMissingRight(err) {
		return err
	}
	return fmt.Errorf("role %s lacks a right in database %s; the owner of schema postbus should migrate: %w",
		quoteName(s.role), quoteName(s.database), err)
}

func quoteName(name string) string { return pgx.Identifier{name}.Sanitize() }
