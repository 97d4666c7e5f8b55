package workers_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// callableSQL lists what a role may call, and touchableSQL what it may do with tables, of the schema postbus.
const (
	callableSQL = `select coalesce(array_agg(p.proname::text order by p.proname), '{}') from pg_proc as p
		where p.pronamespace = 'postbus'::regnamespace and has_function_privilege($1, p.oid, 'execute')
		and p.prorettype <> 'trigger'::regtype and p.proname <> 'river_job_state_in_bitmask'` // a trigger's needs its table; River's reckons
	touchableSQL = `select coalesce(array_agg(c.relname || ': ' || r.what), '{}') from pg_class as c
		cross join unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as r (what)
		where c.relnamespace = 'postbus'::regnamespace and c.relkind in ('r', 'p', 'v') and has_table_privilege($1, c.oid, r.what)`
)

// Promise: a role that was granted postbus_worker may work, one with postbus_writer may record and enqueue, and neither may do
// anything else; a role without a grant may call nothing.
func TestRolesMayDoTheirWorkAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.psql(`select postbus.declare_kind('print');`)
	for role, may := range map[string][]string{
		"postbus_worker":    {"claim_work", "complete_work", "extend_work", "fail_work"},
		"postbus_writer":    {"enqueue", "record"},
		"pg_read_all_stats": {}, // somebody's role
	} {
		if diff := cmp.Diff(may, ask[[]string](s, callableSQL, role)); diff != "" {
			t.Errorf("%s may call (-want +got):\n%s", role, diff)
		}
		if touches := ask[[]string](s, touchableSQL, role); len(touches) != 0 {
			t.Errorf("%s may touch %v", role, touches)
		}
	}
	for sql, says := range map[string]string{
		`set role postbus_worker; select * from postbus.claim_work(array['print'], 'w')`:    "",
		`set role postbus_worker; select postbus.extend_work('1.1')`:                        "is lost",
		`set role postbus_worker; select postbus.complete_work('1.1')`:                      "is lost",
		`set role postbus_worker; select postbus.fail_work('1.1', 'no')`:                    "is lost",
		`set role postbus_worker; listen postbus_work`:                                      "",
		`set role postbus_worker; select count(*) from postbus.river_job`:                   "permission denied",
		`set role postbus_worker; select count(*) from postbus.workers`:                     "permission denied",
		`set role postbus_worker; select postbus.record('o', 'order.placed', '1')`:          "permission denied",
		`set role postbus_worker; select postbus.declare_kind('mine')`:                      "permission denied",
		`set role postbus_worker; select postbus.declare_subscription('mine', '{*}')`:       "permission denied",
		`set role postbus_worker; select postbus.retire_kind('print')`:                      "permission denied",
		`set role postbus_worker; select postbus.enqueue('print')`:                          "permission denied",
		`set role postbus_worker; select postbus.lease_jobs('{print}', 'w', 1)`:             "permission denied",
		`set role postbus_worker; select postbus.settle_lease('1.1', 'completed')`:          "permission denied",
		`set role postbus_writer; select postbus.enqueue('print')`:                          "",
		`set role postbus_writer; select * from postbus.claim_work(array['print'], 'w')`:    "permission denied",
		`set role pg_read_all_stats; select postbus.enqueue('print')`:                       "permission denied",
		`set role pg_read_all_stats; select postbus.complete_work('1.1')`:                   "permission denied",
		`set role pg_read_all_stats; select * from postbus.claim_work(array['print'], 'w')`: "permission denied",
	} {
		out, err := runPsql(s.pool.Config().ConnString(), sql+";")
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(out, says)) {
			t.Errorf("%s: %v %s; want %q", sql, err, out, says)
		}
	}
}

// impostors stand where the functions' own names would be found first if a caller's search_path counted.
const impostors = `
create schema impostor;
create function impostor.clock_timestamp() returns timestamptz language plpgsql as $$ begin raise 'impostor'; end $$;
create function impostor.cardinality(anyarray) returns int language plpgsql as $$ begin raise 'impostor'; end $$;
create function impostor.octet_length(text) returns int language plpgsql as $$ begin raise 'impostor'; end $$;
create function impostor.format(text, text, timestamptz) returns text language plpgsql as $$ begin raise 'impostor'; end $$;
create function impostor.pg_notify(text, text) returns void language plpgsql as $$ begin raise 'impostor'; end $$;
create function impostor.not_later(timestamptz, timestamptz) returns boolean language plpgsql as $$ begin raise 'impostor'; end $$;
create function impostor.same(text, text) returns boolean language plpgsql as $$ begin raise 'impostor'; end $$;
create operator impostor.<= (function = impostor.not_later, leftarg = timestamptz, rightarg = timestamptz);
create operator impostor.= (function = impostor.same, leftarg = text, rightarg = text);
grant usage on schema impostor to public;
`

// Promise: what a caller puts before the functions' own names, by search_path or as temporary objects, is not found.
func TestSearchPathsDoNotReachTheFunctions(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.psql("select postbus.declare_kind('print');" + impostors)
	s.enqueue("print", 2)
	conn, err := pgx.Connect(t.Context(), s.worker)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var lease, other string
	for _, sql := range []string{
		`create temp table river_job (id bigint)`, `create temp table kinds (name text)`, `create temp table workers (name text)`,
		`set search_path = impostor, pg_temp, postbus, pg_catalog`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(t.Context(), `select clock_timestamp()`); err == nil || !strings.Contains(err.Error(), "impostor") {
		t.Fatalf("the impostors are not in the way: %v", err)
	}
	claim := `select id from postbus.claim_work(array['print'], 'w', 1, '1 minute')`
	if err := conn.QueryRow(t.Context(), claim).Scan(&lease); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(t.Context(), claim).Scan(&other); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{`select postbus.extend_work($1, '1 minute')`, `select postbus.complete_work($1, '{}')`} {
		if _, err := conn.Exec(t.Context(), sql, lease); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if _, err := conn.Exec(t.Context(), `select postbus.fail_work($1, 'no', 'discard')`, other); err != nil {
		t.Error(err)
	}
	until(s, 10*time.Second, "completed,discarded", `select string_agg(state::text, ',' order by state::text) from postbus.river_job`)
}

// Promise: every function that runs as its owner names its search_path.
func TestFunctionsThatRunAsTheirOwnerNameTheirSearchPath(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const sql = `select coalesce(array_agg(p.proname::text), '{}') from pg_proc as p where p.pronamespace = 'postbus'::regnamespace and p.prosecdef
		and ('search_path=pg_catalog, pg_temp' = any(p.proconfig)) is not true`
	if open := ask[[]string](s, sql); len(open) != 0 {
		slices.Sort(open)
		t.Errorf("%v have no search_path of their own", open)
	}
}
