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

func query[T any](t *testing.T, server *devpg.Server, sql string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var value T
	if err := conn.QueryRow(ctx, sql).Scan(&value); err != nil {
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
