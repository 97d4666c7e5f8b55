//go:build unix

package devpg_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postbus/postbus/internal/devpg"
	"github.com/postbus/postbus/internal/wait"
)

// tempDir is a folder that the user who runs Postgres may enter; t.TempDir is closed to others.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "devpg-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// One server keeps its address and its data over a halt, a crash and a restart.
func TestServerComesBack(t *testing.T) {
	t.Parallel()
	server := start(t, devpg.ForTests())
	address := server.Addr()
	run(t, server, "create table marks ()")
	run(t, server, "checkpoint") // servers for tests do not wait for their log
	for name, halt := range map[string]func() error{
		"halt":    server.Halt,
		"crash":   server.HaltImmediate,
		"restart": func() error { return server.Restart(t.Context()) },
	} {
		if err := halt(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for range 2 { // twice is fine
			if err := server.StartAgain(t.Context()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if got := query[int](t, server, "select count(*) from marks"); got != 0 || server.Addr() != address {
			t.Errorf("%s: rows = %d, address = %s, want 0 and %s", name, got, server.Addr(), address)
		}
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := server.StartAgain(t.Context()); err == nil {
		t.Error("a server whose folder is gone was started")
	}
}

// A server that died by itself is started again.
func TestServerThatDiedIsStartedAgain(t *testing.T) {
	t.Parallel()
	server := start(t, devpg.ForTests())
	pid := query[int](t, server, "select pg_catalog.split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int")
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	wait.Eventually(t, time.Minute, func() (bool, string) {
		return syscall.Kill(pid, 0) != nil, "the server is still there"
	})
	wait.Eventually(t, time.Minute, func() (bool, string) {
		if err := server.StartAgain(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := os.Stat(server.Dir() + "/data/postmaster.pid")
		return err == nil, "StartAgain has not noticed"
	})
	query[int](t, server, "select 1")
}

// With a folder the data stay, and the next Start finds them.
func TestDurableServerKeepsItsData(t *testing.T) {
	t.Parallel()
	dir := tempDir(t) + "/new"
	first := start(t, devpg.Durable(dir))
	run(t, first, "create table marks ()")
	if got := query[string](t, first, "show fsync"); got != "on" {
		t.Errorf("fsync = %s, want on", got)
	}

	_, err := devpg.Start(t.Context(), devpg.Durable(dir))
	if err == nil || !strings.Contains(err.Error(), "postmaster.pid") {
		t.Errorf("a second server in one folder: error = %v, want Postgres' own", err)
	}
	query[int](t, first, "select 1") // and the first one did not mind

	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := start(t, devpg.Durable(dir))
	if got := query[int](t, second, "select count(*) from marks"); got != 0 {
		t.Errorf("rows = %d, want 0", got)
	}
}

func TestStartSaysWhyThereIsNoServer(t *testing.T) {
	t.Parallel()
	_, err := devpg.Start(t.Context(), devpg.ForTests().With("no_such_setting", "1"))
	if err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("error = %v, want Postgres' own", err)
	}
	if os.Geteuid() != 0 {
		return
	}
	closed := tempDir(t)
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = devpg.Start(t.Context(), devpg.Durable(closed+"/data"))
	if err == nil || !strings.Contains(err.Error(), closed) {
		t.Errorf("error = %v, want one that names %s", err, closed)
	}
}
