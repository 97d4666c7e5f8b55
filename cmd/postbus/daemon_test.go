package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
)

// served is a process that runs postbus serve.
type served struct {
	cmd *exec.Cmd
	url string
	mu  sync.Mutex
	log bytes.Buffer
}

// Write implements io.Writer for the process's output.
func (s *served) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

func (s *served) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// serving says how a program is started.
type serving struct {
	database string
	// program defaults to this test binary under the program's name.
	program string
	// env comes beside HOME and the database.
	env  []string
	attr *syscall.SysProcAttr
}

func serve(t *testing.T, database string, environ ...string) *served {
	t.Helper()
	return serving{database: database, env: environ}.start(t)
}

// start starts it. It is killed when the test ends, if it has not ended before.
func (c serving) start(t *testing.T) *served {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	if c.program == "" {
		c.program = filepath.Join(programDir(t), "postbus")
	}
	s := &served{url: "http://" + address}
	s.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), c.program, "serve", "--listen", address)
	s.cmd.Env = append([]string{"HOME=/", "POSTBUS_DATABASE_URL=" + c.database}, c.env...)
	s.cmd.SysProcAttr = c.attr
	s.cmd.Stdout, s.cmd.Stderr = s, io.MultiWriter(s, testdb.LogTo())
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait() // again, where the test has waited
	})
	return s
}

// eventually waits until path answers this status with this text.
func (s *served) eventually(t *testing.T, path string, status int, says string) {
	t.Helper()
	wait.Eventually(t, 30*time.Second, func() (bool, string) {
		res, err := http.Get(s.url + path)
		if err != nil {
			return false, err.Error()
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			return false, err.Error()
		}
		return res.StatusCode == status && strings.Contains(string(body), says),
			fmt.Sprintf("%s answers %d %s; the log: %s", path, res.StatusCode, body, s.text())
	})
}

// end sends SIGTERM and answers how long the process took.
func (s *served) end(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v; the log: %s", err, s.text())
	}
	return time.Since(began)
}

// serve starts on an empty database, prints the first token once, and is gone within 20 s of SIGTERM.
func TestServeFromNothing(t *testing.T) {
	t.Parallel()
	database := testdb.EmptyURL(t)
	s := serve(t, database)
	s.eventually(t, "/readyz", http.StatusOK, "ready")
	s.eventually(t, "/healthz", http.StatusOK, "ok")
	s.eventually(t, "/api/openapi.json", http.StatusOK, `"openapi":"3.1.0"`)
	s.eventually(t, "/mcp", http.StatusUnauthorized, "")
	if took := s.end(t); took > 20*time.Second {
		t.Errorf("it took %s to end", took)
	}
	if n := strings.Count(s.text(), "pb_"); n != 1 {
		t.Errorf("%d tokens were printed:\n%s", n, s.text())
	}
	again := serve(t, database)
	again.eventually(t, "/readyz", http.StatusOK, "ready")
	again.end(t)
	if strings.Contains(again.text(), "pb_") {
		t.Errorf("a token was printed again:\n%s", again.text())
	}
}

// serve waits for a Postgres that is away, /readyz says why, and nothing of the API is there meanwhile.
func TestServeWaitsForPostgres(t *testing.T) {
	t.Parallel()
	server := testdb.Server(t)
	if err := server.Halt(); err != nil {
		t.Fatal(err)
	}
	s := serve(t, server.URL())
	s.eventually(t, "/readyz", http.StatusServiceUnavailable, "not ready: the database does not answer: ")
	s.eventually(t, "/healthz", http.StatusOK, "ok")
	s.eventually(t, "/api/v1/tasks.list", http.StatusServiceUnavailable, `"code":"unavailable"`)
	if err := server.StartAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.eventually(t, "/readyz", http.StatusOK, "ready")
	if err := server.Halt(); err != nil {
		t.Fatal(err)
	}
	s.eventually(t, "/readyz", http.StatusServiceUnavailable, "not ready: the database does not answer: ")
	if took := s.end(t); took > 20*time.Second {
		t.Errorf("it took %s to end", took)
	}
}

// SIGTERM ends it also while it waits for Postgres.
func TestServeEndsWhileItWaits(t *testing.T) {
	t.Parallel()
	s := serve(t, "postgres://me@127.0.0.1:1/postbus")
	s.eventually(t, "/readyz", http.StatusServiceUnavailable, "not ready: the database does not answer: ")
	if took := s.end(t); took > 5*time.Second {
		t.Errorf("it took %s to end", took)
	}
}
