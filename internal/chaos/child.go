package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// childEnv tells this program that it is one of the processes, and which.
const childEnv = "POSTBUS_CHAOS_CHILD"

// The roles of processes.
const (
	busRole    = "bus"
	workerRole = "worker"
)

// childSpec is what a process is told.
type childSpec struct {
	Role string
	Name string
	URL  string
	Seed uint64
	Log  string // of the worker: the file of what it did
}

// Child runs one of the processes where this program was started as one, and never returns then. Whoever calls Run calls it
// first, in main or TestMain.
func Child() {
	text := os.Getenv(childEnv)
	if text == "" {
		return
	}
	var spec childSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		fail(err)
	}
	go func() { // the end of the harness is the end of this
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	signal.Ignore(syscall.SIGINT) // from the terminal it reaches the whole group; the harness decides
	ctx := context.Background()
	switch spec.Role {
	case busRole:
		fail(runBus(ctx, spec))
	case workerRole:
		fail(runWorker(ctx, spec))
	}
	fail(fmt.Errorf("no role is named %q", spec.Role))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "chaos:", err)
	os.Exit(1)
}
