package devpg

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/postbus/postbus/internal/loop"
)

//go:embed supervisor.sh
var supervisor string

// How a server is stopped: the signals that Postgres knows.
const (
	stopFast      = "INT"  // sessions are ended, data are written out
	stopImmediate = "QUIT" // as a crash
)

// process is a running supervisor with its server.
type process struct {
	cmd    *exec.Cmd
	pipe   *os.File // our end; when it closes, the supervisor stops the server
	waiter loop.Runner
	ended  chan struct{}
}

func (s *Server) spawn() (*process, error) {
	logFile, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("devpg: %w", err)
	}
	defer logFile.Close()
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("devpg: %w", err)
	}
	defer theirs.Close()

	cmd := exec.Command("/bin/sh", s.supervisorArgs()...)
	cmd.Dir, cmd.Env = s.dir, environment()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, logFile, logFile
	cmd.SysProcAttr = s.owner.processAttributes()
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, fmt.Errorf("devpg: start the supervisor: %w", err)
	}
	p := &process{cmd: cmd, pipe: ours, ended: make(chan struct{})}
	p.waiter.Start(context.Background(), func(context.Context) {
		defer close(p.ended)
		_ = cmd.Wait() // the log says more than the exit status
		_ = ours.Close()
	})
	return p, nil
}

func (s *Server) supervisorArgs() []string {
	orphaned, remove := stopFast, ""
	if s.temp {
		orphaned, remove = stopImmediate, s.dir
	}
	args := []string{
		"-c", supervisor, "supervisor", orphaned, remove,
		filepath.Join(s.bin, "postgres"), "-D", s.dataDir(),
		"-c", "listen_addresses=127.0.0.1",
		"-c", "port=" + strconv.Itoa(s.port),
		"-c", "unix_socket_directories=" + s.socketDir(),
		"-c", "logging_collector=off",
	}
	for _, name := range slices.Sorted(maps.Keys(s.config.Settings)) {
		args = append(args, "-c", name+"="+s.config.Settings[name])
	}
	return args
}

// environment is ours in the C locale: macOS does not start Postgres without one that it knows.
func environment() []string { return append(os.Environ(), "LC_ALL=C") }

func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// stop asks for the end, becomes impatient after 30 s, and returns when the server is gone.
func (p *process) stop(how string) error {
	_, _ = p.pipe.WriteString(how + "\n") // fails only where the server has ended by itself
	if p.endsWithin(30 * time.Second) {
		return nil
	}
	killErr := p.killGroup()
	if !p.endsWithin(5 * time.Second) {
		return errors.Join(errors.New("devpg: Postgres did not stop"), killErr)
	}
	return nil
}

func (p *process) endsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.ended:
		p.waiter.Stop()
		return true
	case <-timer.C:
		return false
	}
}
