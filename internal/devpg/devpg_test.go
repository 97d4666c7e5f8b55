package devpg_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/devpg"
	"github.com/postbus/postbus/internal/wait"
)

// start runs a server that the test's end stops.
func start(t *testing.T, config devpg.Config) *devpg.Server {
	t.Helper()
	server, err := devpg.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// connect returns a connection that the test's end closes.
func connect(t *testing.T, server *devpg.Server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func run(t *testing.T, server *devpg.Server, sql string) {
	t.Helper()
	if _, err := connect(t, server).Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func query[T any](t *testing.T, server *devpg.Server, sql string) T {
	t.Helper()
	var value T
	if err := connect(t, server).QueryRow(t.Context(), sql).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

func TestServerRunsWithItsSettingsAndLeavesNothing(t *testing.T) {
	t.Parallel()
	server := start(t, devpg.ForTests().With("work_mem", "7MB"))
	if got := query[string](t, server, "show work_mem"); got != "7MB" {
		t.Errorf("work_mem = %s, want 7MB", got)
	}
	if got := query[string](t, server, "show fsync"); got != "off" {
		t.Errorf("fsync = %s, want off", got)
	}
	for range 2 { // twice is fine
		if err := server.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(server.Dir()); !os.IsNotExist(err) {
		t.Errorf("the temporary folder %s is still there: %v", server.Dir(), err)
	}
	if conn, err := net.Dial("tcp", server.Addr()); err == nil {
		conn.Close()
		t.Errorf("something still listens on %s", server.Addr())
	}
}

// A server never outlives the process that started it: here its end of the pipe is closed as the
// kernel would when it is killed.
func TestServerEndsWithItsParent(t *testing.T) {
	t.Parallel()
	if os.Getenv("DEVPG_CHILD") != "" {
		server, err := devpg.Start(context.Background(), devpg.ForTests())
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString(server.Addr() + " " + server.Dir() + "\n")
		select {} // until killed
	}
	child := exec.Command(os.Args[0], "-test.run=^TestServerEndsWithItsParent$")
	child.Env = append(os.Environ(), "DEVPG_CHILD=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var addr, dir string
	if _, err := fmt.Fscan(out, &addr, &dir); err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	wait.Eventually(t, time.Minute, func() (bool, string) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return false, "the server still listens on " + addr
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			return false, "its folder is still there: " + dir
		}
		return true, ""
	})
}
