package main

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/postbus/postbus/internal/testdb"
)

// Whatever is wrong is said in one line, with the exit status: 2 for a call that can never work, 1 for a failure.
func TestBadCallsAreSaidInOneLine(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	busy := t.TempDir()
	lock, err := lockData(busy)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.release()
	lock.say("--database-url X --search-url Y")

	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"paint", 2, `no command "paint"`},
		{"demo --fast", 2, "-fast"},
		{"demo now", 2, "takes no arguments"},
		{"demo --timeout 0s", 2, "more than 0"},
		{"demo --search-url localhost:80", 2, "http://host:port"},
		{"demo --once --data " + t.TempDir() + " --database-url nonsense://x", 2, "--database-url"},
		{"demo --once --import /does/not/exist", 1, "/does/not/exist cannot be read: no such file"},
		{"demo --once --database-url postgres://127.0.0.1:1/x --data " + t.TempDir(), 1, "the database does not answer"},
		{"demo --once --data " + busy, 1, "join it with --database-url X --search-url Y"},
		{"demo --listen " + taken.Addr().String(), 1, "address already in use: choose another address with --listen"},
		{"search", 2, "--listen ADDR and --data DIR"},
		{"search --data " + t.TempDir() + " --listen " + taken.Addr().String(), 1, "address already in use"},
		{"demo --once --database-url " + testdb.EmptyURL(t) + " --data " + t.TempDir() + " --import " + t.TempDir(), 1, "no Markdown files"},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), strings.Fields(c.args), &out, &errs); code != c.code {
			t.Errorf("%s: exit %d, want %d", c.args, code, c.code)
		}
		if said := errs.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, c.want) {
			t.Errorf("%s: said %q, want one line with %q", c.args, said, c.want)
		}
	}
}
