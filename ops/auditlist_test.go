package ops

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// seedAudit writes n lines, one a minute from the first of 2030 on: who, operation and owner are p0, p1 … of ps.
func seedAudit(t testing.TB, r *Registry, n int) {
	t.Helper()
	execSQL(t, r, `insert into postbus.audit (at, who, face, operation, owner_id, input, result)
		select '2030-01-01T00:00:00Z'::timestamptz + make_interval(mins => n), 'who' || n % 5, 'http', 'room.act' || n % 3, 'owner' || n % 2, '{}', 'ok'
		from generate_series(1, $1::integer) as n order by n`, n)
}

func auditIDs(page Listed[AuditLine]) []string {
	ids := []string{}
	for _, line := range page.Items {
		ids = append(ids, line.ID)
	}
	return ids
}

func TestAuditListPages(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	seedAudit(t, r, 7)
	var got []string
	cursor, pages := "", 0
	for {
		page := answerOf[Listed[AuditLine]](t, r, operator, "audit.list", fmt.Sprintf(`{"limit":3,"cursor":%q}`, cursor))
		got = append(got, auditIDs(page)...)
		if cursor, pages = page.Next, pages+1; cursor == "" {
			break
		}
	}
	if want := []string{"7", "6", "5", "4", "3", "2", "1"}; !slices.Equal(got, want) || pages != 3 {
		t.Errorf("%d pages: %v", pages, got)
	}
	for _, key := range []string{"0", "-1", "01", "+1", "99999999999999999999", "1 or true"} {
		refused(t, r, operator, "audit.list", fmt.Sprintf(`{"cursor":%q}`, sealCursor("audit", key)), Invalid)
	}
	for _, cursor := range []string{"7", "%", sealCursor("instance", "7")} {
		refused(t, r, operator, "audit.list", fmt.Sprintf(`{"cursor":%q}`, cursor), Invalid)
	}
}

// A cursor leads on within its time.
func TestAuditListPagesWithinATime(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	seedAudit(t, r, 300)
	const within = `"since":"2030-01-01T01:00:00Z","until":"2030-01-01T01:03:00Z"`
	first := answerOf[Listed[AuditLine]](t, r, operator, "audit.list", `{"limit":2,`+within+`}`)
	rest := answerOf[Listed[AuditLine]](t, r, operator, "audit.list", `{"limit":2,`+within+`,"cursor":"`+first.Next+`"}`)
	if got := append(auditIDs(first), auditIDs(rest)...); !slices.Equal(got, []string{"62", "61", "60"}) || rest.Next != "" {
		t.Errorf("%v, next %q", got, rest.Next)
	}
}

func TestAuditListFilters(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	seedAudit(t, r, 300)
	for input, want := range map[string][]string{
		`{"limit":2,"who":"who0"}`:                                        {"300", "295"},
		`{"limit":2,"operation":"room.act1"}`:                             {"298", "295"},
		`{"limit":2,"owner_id":"owner1","who":"who0"}`:                    {"295", "285"},
		`{"since":"2030-01-01T04:59:00Z"}`:                                {"300", "299"},
		`{"until":"2030-01-01T00:03:00Z"}`:                                {"2", "1"},
		`{"since":"2030-01-01T02:00:00Z","until":"2030-01-01T02:02:00Z"}`: {"121", "120"},
		`{"until":"2029-01-01T00:00:00Z"}`:                                {},
		`{"since":"9999-12-31T23:59:59Z"}`:                                {},
		`{"who":"' or true --"}`:                                          {},
	} {
		if got := auditIDs(answerOf[Listed[AuditLine]](t, r, operator, "audit.list", input)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", input, got, want)
		}
	}
}

// A caller bound to an owner sees the lines of its owner's things and no others, whatever it asks for.
func TestAuditListKeepsToTheOwner(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	seedAudit(t, r, 6)
	for _, input := range []string{`{}`, `{"owner_id":"owner1"}`, `{"cursor":"` + sealCursor("audit", "1000") + `"}`} {
		if got := auditIDs(answerOf[Listed[AuditLine]](t, r, boundTo("owner1"), "audit.list", input)); !slices.Equal(got, []string{"5", "3", "1"}) {
			t.Errorf("%s: %v", input, got)
		}
	}
	refused(t, r, boundTo("owner1"), "audit.list", `{"owner_id":"owner0"}`, Forbidden)
}

func TestInstancesList(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	execSQL(t, r, `insert into postbus.instances (id, app, version, kinds, seen_at) values
		('a', 'app', '1.2', '{work}', now()), ('b', 'app', '', '{}', now() - interval '1 hour'), ('c', 'app', '', '{}', now())`)
	first := answerOf[Listed[Instance]](t, r, operator, "instances.list", `{"limit":2}`)
	if len(first.Items) != 2 || !first.Items[0].Alive || first.Items[1].Alive || first.Items[0].Version != "1.2" || len(first.Items[0].Kinds) != 1 {
		t.Fatalf("%+v", first)
	}
	rest := answerOf[Listed[Instance]](t, r, operator, "instances.list", `{"cursor":"`+first.Next+`"}`)
	if len(rest.Items) != 1 || rest.Items[0].ID != "c" || rest.Next != "" {
		t.Errorf("%+v", rest)
	}
	refused(t, r, operator, "instances.list", `{"cursor":"a"}`, Invalid)
	refused(t, r, operator, "instances.list", fmt.Sprintf(`{"cursor":%q}`, sealCursor("instance", "a\x00")), Invalid)
}

func TestSystemStatus(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	execSQL(t, r, `insert into postbus.instances (id, app) values ('a', 'app')`)
	execSQL(t, r, `insert into postbus.events (type, owner_id, subject, occurred_at, poisoned_at) values
		('note.changed', 'ann', 's', now() - interval '1 minute', null), ('note.changed', 'ann', 's', now(), now())`)
	execSQL(t, r, `analyze postbus.events`)
	execSQL(t, r, `insert into postbus.migrations (version, name) values (9999, 'later')`)
	got := answerOf[SystemStatus](t, r, operator, "system.status", `{}`)
	if got.Version != "test" || got.Database == "" || got.Instances.N != 1 || got.Poisoned.N != 1 || got.Backlog.N != 1 ||
		got.Backlog.OldestSeconds < time.Minute.Seconds() {
		t.Errorf("%+v", got)
	}
	if m := got.Migrations; len(m.Applied) == 0 || len(m.Pending) != 0 || len(m.Unknown) != 1 || m.Unknown[0].Name != "later" {
		t.Errorf("%+v", m)
	}
	for _, table := range got.Tables {
		if table.Name == "events" && (table.Bytes == 0 || table.Rows == nil || *table.Rows != 2) {
			t.Errorf("%+v", table)
		}
	}
	if !slices.ContainsFunc(got.Tables, func(size TableSize) bool { return size.Name == "river_job" }) {
		t.Errorf("%+v", got.Tables)
	}
}
