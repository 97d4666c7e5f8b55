package workers_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/postbus/postbus/internal/testdb"
)

const (
	leaseSeconds   = 2
	linesPerSecond = 50 // the workers' printer is that fast at most
)

// language is one of the files.
type language struct{ name, file string }

var languages = []language{{"python", "worker.py"}, {"node", "worker.mjs"}, {"shell", "worker.sh"}}

// kind is the subscription that a language's workers serve.
func (l language) kind() string { return "labels." + l.name }

// room is a folder with a worker's file, what it needs, and the labels that it prints.
type room struct {
	dir     string
	command []string
}

func (l language) room(t *testing.T) room {
	t.Helper()
	r := room{dir: t.TempDir()}
	if err := os.CopyFS(r.dir, os.DirFS(".")); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	switch l.name {
	case "python":
		r.command = []string{python(t), l.file}
	case "node":
		nodeModules(t, r.dir)
		r.command = []string{"node", l.file}
	default:
		r.command = []string{"bash", l.file}
	}
	r.command = append(r.command, l.kind())
	return r
}

// python is an interpreter that has the driver: that of Debian, where it is not the first in PATH.
func python(t *testing.T) string {
	t.Helper()
	for _, candidate := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(candidate, "-c", "import psycopg").Run() == nil {
			return candidate
		}
	}
	t.Fatal("no python3 here has psycopg: \"make drivers\" installs it")
	return ""
}

// nodeModules puts pg where worker.mjs finds it: npm's, or Debian's.
func nodeModules(t *testing.T, dir string) {
	t.Helper()
	modules := filepath.Join(dir, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return
	}
	const debian = "/usr/share/nodejs"
	if _, err := os.Stat(filepath.Join(debian, "pg")); err == nil {
		if err := os.Symlink(debian, modules); err != nil {
			t.Fatal(err)
		}
		return
	}
	cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--prefer-offline")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("no pg for node here: \"make drivers\" installs it; npm ci: %v\n%s", err, out)
	}
}

// printed answers the event ids of the labels that were printed.
func (r room) printed(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(r.dir, "labels.log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return slices.Collect(strings.FieldsSeq(string(raw)))
}

// process is a worker that runs.
type process struct {
	cmd   *exec.Cmd
	said  *text
	ended chan struct{}
}

func (r room) start(s *shop) *process {
	s.Helper()
	p := &process{cmd: exec.Command(r.command[0], r.command[1:]...), said: &text{}, ended: make(chan struct{})}
	p.cmd.Dir = r.dir
	p.cmd.Env = append(os.Environ(), "DATABASE_URL="+s.worker, fmt.Sprintf("LEASE=%d", leaseSeconds), "PRINTER=labels.log")
	p.cmd.Stdout, p.cmd.Stderr = p.said, p.said
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	s.Cleanup(p.kill)
	return p
}

// kill ends the worker and what it started as a container's end would.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.ended
}

// stop asks the worker to end and wants it to do so well, and soon.
func (p *process) stop(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		t.Errorf("%s did not stop in 20 s: %s", p.cmd.Args, p.said)
		p.kill()
	}
	if status := p.cmd.ProcessState.ExitCode(); status != 0 {
		t.Errorf("%s ended with status %d: %s", p.cmd.Args, status, p.said)
	}
}

// text is what a process said so far; it goes to the tests' log too.
type text struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (x *text) Write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, _ = testdb.LogTo().Write(b)
	return x.buf.Write(b)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.buf.String()
}
