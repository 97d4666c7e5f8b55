package devpg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/loop"
)

// Server is one private Postgres. Its methods may be called from several goroutines.
type Server struct {
	config Config
	dir    string // holds data, the socket and the log
	temp   bool   // dir is ours and goes with the server
	bin    string
	owner  owner
	port   int

	mu      sync.Mutex
	process *process // nil while stopped
	removed bool

	published bool // the server was up once: its address is known to others
}

// Start initialises the folder where it is new, runs the server and returns when it takes
// connections.
func Start(ctx context.Context, config Config) (*Server, error) {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	owner, err := findOwner()
	if err != nil {
		return nil, err
	}
	bin, err := findBinaries(config.Log)
	if err != nil {
		return nil, err
	}
	s := &Server{config: config, bin: bin, owner: owner, port: config.Port}
	if err := s.prepareDir(); err != nil {
		return nil, err
	}
	if err := s.initialise(ctx); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	if err := s.StartAgain(ctx); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// URL returns the address of the database postgres, for its superuser.
func (s *Server) URL() string { return s.DatabaseURL("postgres") }

// DatabaseURL returns the address of a database, for the superuser.
func (s *Server) DatabaseURL(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

// Addr returns host and port.
func (s *Server) Addr() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// Dir returns the folder with the server's files.
func (s *Server) Dir() string { return s.dir }

// StartAgain runs a server that Halt stopped, at the same address. It does nothing while the
// server runs.
func (s *Server) StartAgain(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.removed {
		return errors.New("devpg: the server's temporary folder was removed by Stop: start a new server")
	}
	if s.process != nil && s.process.alive() {
		return nil
	}
	s.process = nil // it may have ended by itself
	for attempt := 1; ; attempt++ {
		err := s.run(ctx)
		if err == nil {
			s.published = true
			s.config.Log.InfoContext(ctx, "private Postgres is up", "address", s.Addr(), "dir", s.dir)
			return nil
		}
		// Another process may have taken a port that we found free. Once given out, it is kept.
		if s.config.Port != 0 || s.published || attempt == 5 || ctx.Err() != nil {
			return err
		}
		s.port = 0
	}
}

// Restart stops the server in the fast way and runs it again at the same address.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Halt(); err != nil {
		return err
	}
	return s.StartAgain(ctx)
}

// RestartAsStandby restarts the server as one that reads and refuses to write, as after a failover, until somebody calls pg_promote().
func (s *Server) RestartAsStandby(ctx context.Context) error {
	if err := s.Halt(); err != nil {
		return err
	}
	signal := filepath.Join(s.dataDir(), "standby.signal")
	if err := os.WriteFile(signal, nil, 0o600); err != nil {
		return err
	}
	if err := s.owner.own(signal); err != nil {
		return err
	}
	return s.StartAgain(ctx)
}

// Halt stops the server as Stop does, but keeps a temporary folder for StartAgain.
func (s *Server) Halt() error { return s.stop(stopFast) }

// HaltImmediate stops the server as a crash would, but keeps a temporary folder for StartAgain.
func (s *Server) HaltImmediate() error { return s.stop(stopImmediate) }

// Stop ends the server's sessions and the server, and removes a temporary folder.
// It does nothing when the server is stopped.
func (s *Server) Stop() error { return errors.Join(s.stop(stopFast), s.remove()) }

// StopImmediate is Stop without a clean shutdown: the next start recovers from the log.
func (s *Server) StopImmediate() error { return errors.Join(s.stop(stopImmediate), s.remove()) }

func (s *Server) stop(how string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil
	}
	err := s.process.stop(how)
	s.process = nil
	return err
}

func (s *Server) remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.temp || s.removed {
		return nil
	}
	s.removed = true
	return os.RemoveAll(s.dir)
}

// run makes one attempt to bring the server up.
func (s *Server) run(ctx context.Context) error {
	if s.port == 0 {
		port, err := freePort()
		if err != nil {
			return err
		}
		s.port = port
	}
	process, err := s.spawn()
	if err != nil {
		return err
	}
	if err := s.awaitReady(ctx, process); err != nil {
		return errors.Join(err, process.stop(stopImmediate))
	}
	s.process = process
	return nil
}

// awaitReady returns when this very server, and not another one on its port, takes connections.
func (s *Server) awaitReady(ctx context.Context, process *process) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := s.probe(ctx)
		if err == nil {
			return nil
		}
		if !process.alive() {
			return fmt.Errorf("devpg: Postgres did not start; its log ends with:\n%s", s.logTail())
		}
		if sleepErr := loop.Sleep(ctx, 10*time.Millisecond); sleepErr != nil {
			return fmt.Errorf("devpg: Postgres is not ready (%w): %w; its log ends with:\n%s", sleepErr, err, s.logTail())
		}
	}
}

func (s *Server) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var data string
	if err := conn.QueryRow(ctx, "show data_directory").Scan(&data); err != nil {
		return err
	}
	if data != s.dataDir() {
		return fmt.Errorf("port %d belongs to the server of %s", s.port, data)
	}
	return nil
}

// initialise makes the data folder where there is none.
func (s *Server) initialise(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(s.dataDir(), "PG_VERSION")); err == nil {
		return nil
	}
	args := []string{"-D", s.dataDir(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-instructions"}
	if s.config.forgetful() {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "initdb"), args...)
	cmd.Dir, cmd.Env = s.dir, environment()
	cmd.SysProcAttr = s.owner.processAttributes()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("devpg: initdb in %s: %w\n%s", s.dir, err, out)
	}
	return nil
}

func (s *Server) dataDir() string { return filepath.Join(s.dir, "data") }
