package workers_test

import (
	"strings"
	"testing"
	"time"
)

// Promise: what cannot be is refused by name, with the limit, and changes nothing.
func TestHostileInputIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.psql(`select postbus.declare_kind('print');`)
	s.enqueue("print", 2)
	lease := ask[string](s, claimIDSQL, "print", "holder", 600)
	const everything = `select md5(coalesce(string_agg(t::text, '|' order by t::text), '')) from (
		select j::text as t from postbus.river_job as j where j.kind = 'print' union all select to_jsonb(k)::text from postbus.kinds as k
		union all select to_jsonb(u)::text from postbus.subscriptions as u where u.app = '(by-hand)' union all select e.id::text from postbus.events as e
		union all select w.name from postbus.workers as w) as t`
	before := ask[string](s, everything)
	for _, c := range []struct{ state, says, sql string }{
		{"22023", "say which kinds", `select * from postbus.claim_work(null, 'w')`},
		{"22023", "say which kinds", `select * from postbus.claim_work('{}', 'w')`},
		{"22023", "say which kinds", `select * from postbus.claim_work(array['print', null], 'w')`},
		{"22023", "say which kinds", `select * from postbus.claim_work(array[['print'], ['print']], 'w')`},
		{"22023", "not declared as external", `select * from postbus.claim_work(array['print', 'unheard'], 'w')`},
		{"22023", "not declared as external", `select * from postbus.claim_work(array[''';drop table postbus.kinds'], 'w')`},
		{"22023", "the limit is 1000", `select * from postbus.claim_work(array_fill('print'::text, array[100000]), 'w')`},
		{"22023", "name has 0 bytes", `select * from postbus.claim_work(array['print'], '')`},
		{"22023", "name has 0 bytes", `select * from postbus.claim_work(array['print'], null)`},
		{"22023", "use 1 to 120", `select * from postbus.claim_work(array['print'], repeat('w', 121))`},
		{"22023", "max is 0", `select * from postbus.claim_work(array['print'], 'w', 0)`},
		{"22023", "max is 101", `select * from postbus.claim_work(array['print'], 'w', 101)`},
		{"22023", "max is null", `select * from postbus.claim_work(array['print'], 'w', null)`},
		{"22023", "use 1 second to 24 hours", `select * from postbus.claim_work(array['print'], 'w', 1, '-1 second')`},
		{"22023", "use 1 second to 24 hours", `select * from postbus.claim_work(array['print'], 'w', 1, '25 hours')`},

		{"22023", "null is no lease", `select postbus.complete_work(null)`},
		{"22023", "is no lease", `select postbus.complete_work('')`},
		{"22023", "is no lease", `select postbus.complete_work($1 || '; drop table postbus.kinds')`},
		{"22023", "is no lease", `select postbus.complete_work('99999999999999999999.1')`},
		{"PB001", "its job is not there", `select postbus.complete_work('999999999999999999.1')`},
		{"PB001", "is lost", `select postbus.complete_work(split_part($1, '.', 1) || '.1')`},
		{"PB001", "is lost", `select postbus.complete_work((select id::text from postbus.river_job where state = 'available') || '.1')`},
		{"22023", "the limit is 65536", `select postbus.complete_work($1, to_json(repeat('x', 10000000)))`},
		{"22P02", "invalid input syntax for type json", `select postbus.complete_work($1, '{')`},
		{"22023", "use 1 second to 24 hours", `select postbus.extend_work($1, '-1 hour')`},
		{"22023", "the lease is null", `select postbus.extend_work($1, null)`},
		{"22023", "how is 'never'", `select postbus.fail_work($1, 'no', 'never')`},
		{"22023", "how is null", `select postbus.fail_work($1, 'no', null)`},
		{"22023", "say what failed", `select postbus.fail_work($1, null)`},
		{"22023", "say what failed", `select postbus.fail_work($1, '')`},
		{"22023", "must say for how long", `select postbus.fail_work($1, '', 'snooze')`},
		{"22023", "use 0 to 3650 days", `select postbus.fail_work($1, 'no', 'retry', '-1 second')`},
		{"22023", "use 0 to 3650 days", `select postbus.fail_work($1, 'no', 'snooze', '100 years')`},

		{"22023", "null names no external kind", `select postbus.declare_kind(null)`},
		{"22023", "names no external kind", `select postbus.declare_kind('Bad Name')`},
		{"22023", "at most 59 bytes", `select postbus.declare_kind(repeat('x', 60))`},
		{"22023", "use 1 to 1000", `select postbus.declare_kind('other', 0)`},
		{"22023", "use 1 second to 24 hours", `select postbus.declare_kind('other', 1, '-1 second')`},
		{"22023", "give 1 to 1000", `select postbus.declare_kind('other', 1, '1 second', '{}')`},
		{"22023", "give 1 to 1000", `select postbus.declare_kind('other', 1, '1 second', array['1s', null]::interval[])`},
		{"22023", "names no types", `select postbus.declare_subscription('other', '{}')`},
		{"22023", "names no types", `select postbus.declare_subscription('other', array[null])`},
		{"22023", "use a type's name", `select postbus.declare_subscription('other', array['*.placed'])`},
		{"22023", "matches no declared event type", `select postbus.declare_subscription('other', array['unheard.*'])`},
		{"22023", "names no external kind", `select postbus.declare_subscription(null, array['*'])`},
		{"22023", "is not declared in SQL", `select postbus.retire_kind('unheard')`},

		{"22023", "kind 'unheard' is not declared", `select postbus.enqueue('unheard')`},
		{"22023", "kind null is not declared", `select postbus.enqueue(null)`},
		{"22023", "must be a JSON object", `select postbus.enqueue('print', null)`},
		{"22023", "must be a JSON object", `select postbus.enqueue('print', '[1]')`},
		{"22P02", "invalid input syntax for type json", `select postbus.enqueue('print', '{')`},
		{"22023", "the limit is 262144 bytes", `select postbus.enqueue('print', json_build_object('x', repeat('x', 10000000)))`},
		{"22P05", "cannot store as text", `select postbus.enqueue('print', '{"a": "\u0000"}')`},
		{"22023", "run_at", `select postbus.enqueue('print', '{}', 'infinity')`},
		{"22023", "run_at", `select postbus.enqueue('print', '{}', '20000-01-01')`},
		{"22023", "run_at", `select postbus.enqueue('print', '{}', '0044-03-15 BC')`},
		{"22023", "owner must not be empty", `select postbus.enqueue('print', '{}', owner => '')`},
	} {
		var args []any
		if strings.Contains(c.sql, "$1") {
			args = append(args, lease)
		}
		s.refused(c.state, c.says, c.sql, args...)
	}
	if after := ask[string](s, everything); after != before {
		t.Error("what was refused changed something")
	}
	s.takesExtremes(lease)
}

// takesExtremes is what is odd and fine.
func (s *shop) takesExtremes(lease string) {
	s.Helper()
	s.psql(`select postbus.complete_work('` + lease + `', json_build_object('zero', E'\\u0000'::text, 'x', repeat('x', 65000)));`)
	other := ask[string](s, claimIDSQL, "print", "w", 600)
	s.psql(`select postbus.fail_work('` + other + `', repeat(E'<b>\n''é', 1000000), 'discard');`)
	until(s, 10*time.Second, "completed,discarded", `select string_agg(state::text, ',' order by state::text) from postbus.river_job where kind = 'print'`)
	if n := ask[int](s, `select max(octet_length(errors[1] ->> 'error')) from postbus.river_job where kind = 'print'`); n > 4*16384 {
		s.Errorf("an error of %d bytes was kept", n)
	}
}
