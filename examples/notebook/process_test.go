package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
)

// asCommand makes the test binary behave as the command itself.
const asCommand = "NOTEBOOK_TEST_AS_COMMAND"

// patience is what a busy machine may take for anything that is waited for here.
const patience = 90 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	_ = os.Setenv(asCommand, "1") // of the processes that are started from here on, receivers among them
	testdb.Run(m, func(context.Context, *pgxpool.Pool) error { return nil })
}

// process is a notebook that runs as a process of its own.
type process struct {
	cmd *exec.Cmd

	mu    sync.Mutex
	lines []string
}

// start runs the command and stops it when the test ends.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], args...)}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, scan.Text())
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		p.stop()
		<-read
		_ = p.cmd.Wait()
		if t.Failed() {
			t.Logf("notebook %s:\n%s", strings.Join(args, " "), p.output())
		}
	})
	return p
}

func (p *process) stop() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

// kill ends the process as a crash would.
func (p *process) kill() { _ = p.cmd.Process.Kill() }

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// said waits for a line with the prefix and answers its next word.
func (p *process) said(t *testing.T, prefix string) (word string) {
	t.Helper()
	wait.Eventually(t, patience, func() (bool, string) {
		for line := range strings.Lines(p.output()) {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				word = strings.Fields(rest)[0]
				return true, ""
			}
		}
		return false, fmt.Sprintf("no line %q in:\n%s", prefix, p.output())
	})
	return word
}

// demoPages starts notebook demo on a free port, without a builder unless asked for one, and answers the address of its pages.
func demoPages(t *testing.T, args ...string) (*process, string) {
	t.Helper()
	p := start(t, append([]string{"demo", "--listen", "127.0.0.1:0", "--builder=false"}, args...)...)
	return p, p.said(t, "notebook ")
}

// searchService starts notebook search and answers its address.
func searchService(t *testing.T, listen, data string) (*process, string) {
	t.Helper()
	p := start(t, "search", "--listen", listen, "--data", data)
	return p, p.said(t, "search ")
}
