package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func find(t *testing.T, path, pattern string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", path))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)` + pattern).FindStringSubmatch(string(text))
	if found == nil {
		t.Fatalf("%s has no line like %s", path, pattern)
	}
	return found[1]
}

// The image is built with the Go of go.mod, by the same script, and runs as nobody.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	wanted := find(t, "go.mod", `^go (\d+\.\d+)`)
	if has := find(t, "Dockerfile", `^FROM golang:(\S+) AS build$`); has != wanted {
		t.Errorf("the Dockerfile builds with Go %s, go.mod says %s", has, wanted)
	}
	find(t, "Dockerfile", `(scripts/build\.sh) `)
	if user := find(t, "Dockerfile", `^USER (\d+):\d+$`); user != strconv.Itoa(nobody) {
		t.Errorf("it runs as %s", user)
	}
	if port, listens := find(t, "Dockerfile", `^EXPOSE (\d+)$`), find(t, "Dockerfile", `^ENV POSTBUS_LISTEN=0\.0\.0\.0:(\d+)$`); port != listens {
		t.Errorf("it shows port %s and listens at %s", port, listens)
	}
}

// systemd waits longer than the program may take to end, and finds nothing wrong with the unit.
func TestUnit(t *testing.T) {
	t.Parallel()
	stop, err := strconv.Atoi(find(t, "packaging/postbus.service", `^TimeoutStopSec=(\d+)$`))
	if err != nil || stop <= 20 {
		t.Errorf("it is killed after %d s; it may take 20 s to end", stop)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd here")
	}
	unit, err := os.ReadFile("../../packaging/postbus.service")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(programDir(t), "postbus")
	path := filepath.Join(t.TempDir(), "postbus.service")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(unit), "/usr/local/bin/postbus", program)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", path).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}
