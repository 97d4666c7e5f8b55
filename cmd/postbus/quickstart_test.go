package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/snippets"
	"github.com/postbus/postbus/internal/wait"
)

// quickstart is the document whose programs are run here.
const quickstart = "../../docs/quickstart-any-language.md"

// language is one section of the document.
type language struct {
	name     string
	runtimes []string // what it takes to run it: absent, its test is skipped
	driver   string   // commands that succeed where the driver is there; else what the document says is installed
	data     string   // what its program records
	verify   string   // the command that runs its program for receivers, or ""
	build    string   // what goes before verify, once
}

var languages = []language{
	{name: "psql", runtimes: []string{"psql"}, driver: "true", data: `{"total": 1999}`},
	{
		name: "Python", runtimes: []string{"python3"}, data: `{"total": 1999}`, verify: "python3 verify.py",
		driver: "python3 -c 'import psycopg' || { /usr/bin/python3 -c 'import psycopg' && ln -s /usr/bin/python3 bin/python3; }",
	},
	{name: "Node", runtimes: []string{"node", "npm"}, driver: "false", data: `{"total":1999}`, verify: "node verify.mjs"},
	{name: "Ruby", runtimes: []string{"ruby"}, driver: "ruby -e 'require \"pg\"'", data: `{"total":1999}`, verify: "ruby verify.rb"},
	{
		name: "PHP", runtimes: []string{"php"}, data: `{"total":1999}`, verify: "php verify.php",
		driver: "php -r 'exit(extension_loaded(\"pgsql\") ? 0 : 1);'",
	},
	{
		name: "Java", runtimes: []string{"java", "javac"}, data: `{"total":1999}`, verify: "java -XX:TieredStopAtLevel=1 Verify", build: "javac Verify.java",
		driver: "test -e /usr/share/java/postgresql.jar && ln -s /usr/share/java/postgresql.jar postgresql.jar",
	},
}

// In every language: of an event that is committed and one that is rolled back exactly one webhook arrives, the first's, with
// its data byte for byte; and the program for receivers accepts it and refuses what is forged.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	doc, err := snippets.Read(quickstart)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			for _, runtime := range l.runtimes {
				if _, err := exec.LookPath(runtime); err != nil {
					t.Skipf("%s is not on this machine", runtime)
				}
			}
			r := newReader(t, doc)
			secret := r.makeEndpoint(t)
			r.program(t, l)
			got := r.exactlyOne(t, l.data)
			if out, err := r.shell(t, l.build); err != nil {
				t.Fatalf("%s: %v\n%s", l.build, err, out)
			}
			if l.verify != "" {
				r.verifies(t, l.verify, secret, got)
			}
			if l.name == "Python" {
				r.receives(t, secret, got)
			}
		})
	}
}

// program installs what a language's section says and runs its program.
func (r *reader) program(t *testing.T, l language) {
	t.Helper()
	commands := r.doc.Under(l.name, "sh")
	if len(commands) == 0 {
		t.Fatalf("the section %s says no command", l.name)
	}
	install, run := commands[:len(commands)-1], commands[len(commands)-1]
	if out, err := r.shell(t, l.driver); err == nil {
		install = nil
	} else if len(install) == 0 {
		t.Skipf("%s is here without its extension for Postgres: %v %s", l.name, err, out)
	}
	// One shell: the first block may change the environment of the second.
	out, err := r.shell(t, strings.Join(install, "")+"echo installed\n"+run)
	switch {
	case err == nil:
	case !strings.Contains(out, "installed\n") && offline.MatchString(out):
		t.Skipf("offline: the driver of %s cannot be had: %s", l.name, out)
	case !strings.Contains(out, "installed\n"):
		t.Fatalf("the driver of %s cannot be installed as the document says (make drivers has Debian's): %v\n%s", l.name, err, out)
	default:
		t.Fatalf("the program in %s: %v\n%s", l.name, err, out)
	}
}

// exactlyOne answers the one webhook that came of a program.
func (r *reader) exactlyOne(t *testing.T, data string) request {
	t.Helper()
	wait.Eventually(t, 30*time.Second, func() (bool, string) {
		var delivered int
		err := r.pool.QueryRow(t.Context(), `select count(*) from postbus.webhook_deliveries where state = 'delivered'`).Scan(&delivered)
		return err == nil && delivered > 0, fmt.Sprintf("%d deliveries (%v); the log: %s", delivered, err, r.served.text())
	})
	type counts struct{ Orders, Events, Deliveries, Attempts int }
	rows, err := r.pool.Query(t.Context(), `select (select count(*) from orders), (select count(*) from postbus.events where type = 'order.paid'),
		(select count(*) from postbus.webhook_deliveries), (select count(*) from postbus.webhook_attempts)`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[counts])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(counts{1, 1, 1, 1}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	arrived := r.arrived()
	if len(arrived) != 1 {
		t.Fatalf("%d webhooks arrived", len(arrived))
	}
	var body struct {
		Subject string
		Data    json.RawMessage
	}
	if err := json.Unmarshal(arrived[0].body, &body); err != nil {
		t.Fatal(err)
	}
	if body.Subject != "42" || string(body.Data) != data {
		t.Errorf("order %s arrived with the data %s, want 42 with %s", body.Subject, body.Data, data)
	}
	return arrived[0]
}

// Over HTTP an endpoint can be made, and an event with an id of the caller's choice is one event however often it is sent.
func TestQuickstartOverHTTP(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not on this machine")
	}
	doc, err := snippets.Read(quickstart)
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t, doc)
	for _, sql := range []string{
		`select postbus.declare_type('order.paid', 'An order was paid', 'order id', 'webhook')`,
		`create table orders as select 44 as id`, // the row that exactlyOne counts
	} {
		if _, err := r.pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	endpoint := doc.Under("2. Make an endpoint", "sh")[1]
	record := doc.Under("Without a connection to the database", "sh")[0]
	out, err := r.shell(t, r.towardsMe(endpoint)+record+record)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := strings.Count(out, `"fresh":false`); n != 1 {
		t.Errorf("%d of the two recordings met the other:\n%s", n, out)
	}
	wait.Eventually(t, 30*time.Second, func() (bool, string) { return len(r.arrived()) > 0, r.served.text() })
	if id := r.arrived()[0].header.Get("webhook-id"); !strings.Contains(record, id) {
		t.Errorf("the event %s arrived, want the id of %s", id, record)
	}
	if n := len(r.arrived()); n != 1 {
		t.Errorf("%d webhooks arrived", n)
	}
}

// request is what a receiver got.
type request struct {
	header http.Header
	body   []byte
}
