package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/ops"
)

// The scripts in testdata/script run the program against a database of their own ($DB), the same as a role that
// owns nothing ($STRANGER), an empty one ($EMPTY) and a server on the
// first ($SERVER, with the admin token $ADMIN and the reading $READER). Jobs 1 to 3 of the kind "work" wait in it.
func TestScripts(t *testing.T) {
	t.Parallel()
	dir := programDir(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			tb, ok := env.T().(testing.TB)
			if !ok {
				t.Fatalf("%T is no test", env.T())
			}
			env.Setenv("PATH", dir+string(os.PathListSeparator)+env.Getenv("PATH"))
			setUp(tb, env)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits, "golden": golden, "sql": sql},
	})
}

func setUp(t testing.TB, env *testscript.Env) {
	t.Helper()
	pool := testdb.New(t)
	enqueue(t, pool)
	_, registry, err := compose(pool, settings{}, testdb.Log())
	if err != nil {
		t.Fatal(err)
	}
	admin, err := ops.Bootstrap(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	faces := web{log: testdb.Log()}
	if err := faces.open(registry, ops.NewAuthenticator(pool, nil), http.NotFoundHandler()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(*faces.faces.Load())
	t.Cleanup(server.Close)
	env.Setenv("DB", pool.Config().ConnString())
	env.Setenv("STRANGER", pool.Config().ConnString()+"&options=-c%20role%3Dpg_read_all_data")
	env.Setenv("EMPTY", testdb.EmptyURL(t))
	env.Setenv("SERVER", server.URL)
	env.Setenv("ADMIN", admin)
}

func enqueue(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	handle := func(context.Context, json.RawMessage) error { return nil }
	runtime, err := river.New(pool, river.Config{
		App: app, Kinds: []jobs.Kind{{Name: "work", Queue: "default", MaxAttempts: 3, Handle: handle}}, Queues: map[string]int{"default": 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{"ann", "ann", "bob"} {
		if _, err := runtime.Enqueue(t.Context(), "work", map[string]int{"n": 1}, jobs.EnqueueOpts{Owner: owner}); err != nil {
			t.Fatal(err)
		}
	}
}

// exits runs the program and wants this exit status: exits STATUS ARG…
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS ARG…")
	}
	err := ts.Exec("postbus", args[1:]...)
	status := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("run it: %v", err)
	}
	if want, err := strconv.Atoi(args[0]); err != nil || status != want {
		ts.Fatalf("exit status %d, want %s", status, args[0])
	}
}

// sql runs one statement: sql URL STATEMENT
func sql(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: sql URL STATEMENT")
	}
	conn, err := pgx.Connect(context.Background(), args[0])
	ts.Check(err)
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(context.Background(), args[1])
	switch {
	case neg && err == nil:
		ts.Fatalf("it went well: %s", args[1])
	case !neg:
		ts.Check(err)
	}
}

var (
	moments = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	ids     = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
)

// golden compares the standard output (or with stderr the standard error) with a file, times and random ids made equal:
// golden stdout|stderr FILE
func golden(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: golden stdout|stderr FILE")
	}
	got := moments.ReplaceAllString(ts.ReadFile(args[0]), "2026-01-01T00:00:00Z")
	got = strings.TrimRight(ids.ReplaceAllString(got, "00000000-0000-0000-0000-000000000000"), "\n")
	if want := strings.TrimRight(ts.ReadFile(args[1]), "\n"); got != want {
		ts.Fatalf("%s is\n%s\nwant\n%s", args[0], got, want)
	}
}
