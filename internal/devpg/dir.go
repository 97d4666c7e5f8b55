package devpg

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// prepareDir makes the server's folder, owned and reachable by the user that runs the server.
func (s *Server) prepareDir() error {
	if s.config.Dir == "" {
		return s.prepareTempDir()
	}
	dir, err := filepath.Abs(s.config.Dir)
	if err != nil {
		return fmt.Errorf("devpg: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("devpg: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return fmt.Errorf("devpg: %w", err)
	}
	if err := s.owner.reaches(filepath.Dir(dir)); err != nil {
		return fmt.Errorf("devpg: %w: keep the data elsewhere, or do not run as root", err)
	}
	s.dir = dir
	return s.owner.own(dir)
}

func (s *Server) prepareTempDir() error {
	var problems []error
	for _, parent := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		parent, err := filepath.EvalSymlinks(parent)
		if err == nil {
			err = s.owner.reaches(parent)
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		dir, err := os.MkdirTemp(parent, "postbus-pg-")
		if err != nil {
			problems = append(problems, err)
			continue
		}
		s.dir, s.temp = dir, true
		return s.owner.own(dir)
	}
	return fmt.Errorf("devpg: no temporary folder: %w", errors.Join(problems...))
}

// socketDir returns the folder for the Unix socket; "" where its path would be too long for one.
func (s *Server) socketDir() string {
	const longest = 103 // what macOS allows; Linux allows 107
	if len(filepath.Join(s.dir, ".s.PGSQL.65535")) > longest {
		return ""
	}
	return s.dir
}

func (s *Server) logPath() string { return filepath.Join(s.dir, "postgres.log") }

// logTail returns the end of the server's log, for an error's text.
func (s *Server) logTail() string {
	content, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	const most = 2000
	return string(content[max(0, len(content)-most):])
}
