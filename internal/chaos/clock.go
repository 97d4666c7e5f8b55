package chaos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// clockEnv says by how many seconds the wall clock of a program that was built for it is off.
const clockEnv = "POSTBUS_CHAOS_CLOCK"

// clockOff is a plant in the standard library: Go asks the kernel for the time past libc, where nobody could stand in between.
// The monotonic clock, which durations are measured by, goes on as it should.
const (
	clockOld = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {\n\t\treturn Time{uint64(nsec), sec + unixToInternal, Local}"
	clockNew = "\tsec, nsec, mono := runtimeNow()\n\tsec += clockOff\n\tif mono == 0 {\n\t\treturn Time{uint64(nsec), sec + unixToInternal, Local}"
	clockAdd = `
var clockOff = readClockOff()

func readClockOff() (off int64) {
	text, _ := syscall.Getenv("` + clockEnv + `")
	for _, c := range text {
		if c >= '0' && c <= '9' {
			off = off*10 + int64(c-'0')
		}
	}
	if text != "" && text[0] == '-' {
		return -off
	}
	return off
}
`
)

// clockOverlay writes the overlay of a clock that can be off.
func clockOverlay(ctx context.Context, dir string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	path := filepath.Join(strings.TrimSpace(string(out)), "src", "time", "time.go")
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	source := string(raw)
	if strings.Count(source, clockOld) != 1 || strings.Count(source, "import (\n") != 1 {
		return "", fmt.Errorf("the clock of this Go version cannot be put off: %s reads otherwise", path)
	}
	source = strings.Replace(source, clockOld, clockNew, 1)
	source = strings.Replace(source, "import (\n", "import (\n\t\"syscall\"\n", 1) + clockAdd
	return writeOverlay(dir, map[string]string{path: source})
}

// program is the package of the processes' program.
const program = "./internal/chaos/cmd"

// compile builds the programs that are not this one: with a plant, and with a clock that can be off.
func (w *world) compile(ctx context.Context) error {
	w.binary = w.cfg.Binary
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	if w.cfg.Plant != "" {
		plant, err := plantNamed(w.cfg.Plant)
		if err != nil {
			return err
		}
		w.binary = w.path("planted")
		if err := w.build(ctx, root, w.binary, plant.overlay); err != nil {
			return err
		}
	}
	if !w.cfg.Clock {
		return nil
	}
	w.clockBinary = w.path("clock-off")
	return w.build(ctx, root, w.clockBinary, func(_, dir string) (string, error) { return clockOverlay(ctx, dir) })
}

func (w *world) build(ctx context.Context, root, binary string, overlay func(root, dir string) (string, error)) error {
	dir, err := os.MkdirTemp("", "chaos-overlay-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	name, err := overlay(root, dir)
	if err != nil {
		return err
	}
	w.later(func() error { return os.Remove(binary) })
	return goBuild(ctx, root, name, "-o", binary, program)
}
