package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// dataLock keeps a data folder to one process. The lock goes with the process, however that ends.
type dataLock struct{ file *os.File }

// lockData makes the folder and locks it. Where another process has it, the error says how to join that one.
func lockData(dir string) (*dataLock, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("the data folder: %w: choose another with --data", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the data folder: %w: choose another with --data", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return &dataLock{f}, f.Truncate(0)
	}
	defer f.Close()
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("lock the data folder %s: %w", dir, err)
	}
	said, _ := io.ReadAll(io.LimitReader(f, 4096)) // without it the error is shorter
	way := "choose another with --data"
	if joins := strings.TrimSpace(string(said)); joins != "" {
		way = "join it with " + joins + ", or " + way
	}
	return nil, fmt.Errorf("another notebook keeps its data in %s: %s", dir, way)
}

// say leaves word for whoever finds the folder locked: the flags to join with.
func (l *dataLock) say(flags string) { _, _ = l.file.WriteAt([]byte(flags+"\n"), 0) }

func (l *dataLock) release() { _ = l.file.Close() }
