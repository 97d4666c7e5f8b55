package testdb

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
)

// logDir names the environment's folder for logs. scripts/test.sh sets it, and searches what is there for secrets.
const logDir = "TEST_LOG_DIR"

// book is the file of this test binary's logs.
type book struct {
	once sync.Once
	to   io.Writer
}

func (b *book) open() io.Writer {
	b.once.Do(func() {
		b.to = io.Discard
		dir := os.Getenv(logDir)
		if dir == "" {
			return
		}
		file, err := os.CreateTemp(dir, filepath.Base(os.Args[0])+"-*.log")
		if err != nil {
			panic(fmt.Errorf("%s: %w", logDir, err)) // a log that is not kept is a log that is not searched
		}
		b.to = file
	})
	return b.to
}

// LogTo is where a test's programs write logs that nobody reads: a file in TEST_LOG_DIR, which make test searches for secrets,
// or nowhere.
func LogTo() io.Writer { return logs.open() }

// Log is a logger to LogTo, at every level. Tests use it in place of one that discards.
func Log() *slog.Logger {
	return slog.New(slog.NewTextHandler(LogTo(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Logged adds Log to a logger whose output a test reads or shows.
func Logged(handler slog.Handler) *slog.Logger {
	return slog.New(slog.NewMultiHandler(handler, Log().Handler()))
}
