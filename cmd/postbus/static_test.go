package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// stampedAs is the version that the tests have built.
const stampedAs = "v1.2.3-test"

// builder builds the program as it is released, once for all tests.
type builder struct {
	once sync.Once
	dir  string
	out  []byte
	err  error
}

var released builder

// program answers the path of the released program: static, without the race detector.
func (b *builder) program(t *testing.T) string {
	t.Helper()
	b.once.Do(func() {
		if b.dir, b.err = os.MkdirTemp("", "postbus-released-"); b.err != nil {
			return
		}
		cmd := exec.Command("../../scripts/build.sh", filepath.Join(b.dir, "postbus"))
		cmd.Env = append(os.Environ(), "VERSION="+stampedAs)
		b.out, b.err = cmd.CombinedOutput()
	})
	if b.err != nil {
		t.Fatalf("scripts/build.sh: %v\n%s", b.err, b.out)
	}
	return filepath.Join(b.dir, "postbus")
}

// remove takes the program away again.
func (b *builder) remove() {
	if b.dir != "" {
		_ = os.RemoveAll(b.dir)
	}
}

// The released program needs no file beside it: no interpreter, no shared library. It knows its version.
func TestReleasedProgramIsStatic(t *testing.T) {
	t.Parallel()
	program := released.program(t)
	file, err := elf.Open(program)
	if err != nil {
		t.Skip("no ELF here: ", err)
	}
	defer func() { _ = file.Close() }()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("it has a %s: it is linked dynamically", p.Type)
		}
	}
	out, err := exec.Command(program, "version").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "postbus "+stampedAs {
		t.Errorf("version: %s %v", out, err)
	}
}
