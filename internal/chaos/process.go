package chaos

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/postbus/postbus/internal/faultproxy"
)

// process is one of the processes, which is started again where it ends by itself, as a supervisor would.
type process struct {
	spec   childSpec
	binary string
	proxy  *faultproxy.Proxy // its way to Postgres
	out    *os.File

	mu      sync.Mutex
	cmd     *exec.Cmd // nil while it is not meant to run
	stdin   *os.File
	starts  int
	crashes int // ended by a panic
}

// panicked is the exit status of a Go program that did.
const panicked = 2

func (p *process) start() error { return p.startAs(p.binary) }

// startAs runs another program in its place, until the next start.
func (p *process) startAs(binary string, env ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spawn(binary, env)
}

func (p *process) spawn(binary string, env []string) error {
	if p.cmd != nil {
		return nil
	}
	spec, err := json.Marshal(p.spec)
	if err != nil {
		return err
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := exec.Command(binary)
	cmd.Env = append(append(os.Environ(), childEnv+"="+string(spec)), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, p.out, p.out
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		_ = ours.Close()
		return fmt.Errorf("start %s: %w", p.spec.Name, err)
	}
	p.cmd, p.stdin = cmd, ours
	p.starts++
	go p.watch(cmd, binary, env)
	return nil
}

// watch starts the process again when it ended by itself.
func (p *process) watch(cmd *exec.Cmd, binary string, env []string) {
	_ = cmd.Wait()
	timer := time.NewTimer(300 * time.Millisecond)
	defer timer.Stop()
	if p.ended(cmd) {
		<-timer.C
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.cmd == cmd {
			p.cmd = nil
			_ = p.stdin.Close()
			if err := p.spawn(binary, env); err != nil {
				fmt.Fprintln(p.out, err)
			}
		}
	}
}

func (p *process) ended(cmd *exec.Cmd) (byItself bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cmd.ProcessState.ExitCode() == panicked {
		p.crashes++
	}
	return p.cmd == cmd
}

// kill ends it as a power cut would.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.stdin.Close()
	p.cmd = nil
}

// story is how often it was started, and how often it ended in a panic or the race detector found something in it.
func (p *process) story() (starts, crashes int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	said, err := os.ReadFile(p.out.Name())
	return p.starts, p.crashes + bytes.Count(said, []byte("WARNING: DATA RACE")), err
}

func (p *process) signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return errors.New("the process does not run")
	}
	return p.cmd.Process.Signal(s)
}
