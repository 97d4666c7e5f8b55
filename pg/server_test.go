package pg

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestServerCheckSaysWhatHelps(t *testing.T) {
	t.Parallel()
	good := server{version: 140000, named: "14.0", role: "app", database: "shop", mayProceed: true}
	if err := good.check(); err != nil {
		t.Errorf("Postgres 14: %v", err)
	}
	tests := map[string]struct {
		change func(s *server)
		want   string
	}{
		"old":     {func(s *server) { s.version, s.named = 130012, "13.12" }, "this is Postgres 13.12; 14 or newer is needed"},
		"standby": {func(s *server) { s.standby = true }, "connect to the primary"},
		"schema":  {func(s *server) { s.mayProceed = false }, `create schema postbus authorization "app"`},
		"tables":  {func(s *server) { s.mayProceed, s.hasSchema = false, true }, `grant usage, create on schema postbus to "app"`},
	}
	for name, test := range tests {
		bad := good
		test.change(&bad)
		if err := bad.check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error = %v, want one with %q", name, err, test.want)
		}
	}
}

func TestServerExplainsARefusal(t *testing.T) {
	t.Parallel()
	refused := &pgconn.PgError{Code: "42501", Message: "must be owner of table events"}
	err := server{role: "app", database: "shop"}.explain(refused)
	for _, want := range []string{`"app"`, `"shop"`, "must be owner of table events"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %s: %v", want, err)
		}
	}
	other := errors.New("other")
	if got := (server{role: "app"}).explain(other); got != other {
		t.Errorf("another error was changed: %v", got)
	}
}

func TestReadMigrationsRefusesDisorder(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"form of a name":    {"migrations/1_a.up.sql"},
		"no way back":       {"migrations/001_a.up.sql"},
		"have the number 1": {"migrations/001_a.up.sql", "migrations/001_a.down.sql", "migrations/001_b.up.sql", "migrations/001_b.down.sql"},
	}
	for want, names := range tests {
		files := fstest.MapFS{}
		for _, name := range names {
			files[name] = &fstest.MapFile{Data: []byte("-- why\n")}
		}
		if _, err := readMigrations(files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want one with %q", err, want)
		}
	}
}
