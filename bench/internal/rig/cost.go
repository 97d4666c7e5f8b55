package rig

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Cost is what was spent up to a moment, by this process and the server together.
type Cost struct {
	CPU  time.Duration
	WAL  int64 // bytes
	Dead int64 // rows that were updated or deleted in the database
}

// Minus is what was spent since.
func (c Cost) Minus(before Cost) Cost {
	return Cost{c.CPU - before.CPU, c.WAL - before.WAL, c.Dead - before.Dead}
}

// Cost reads it. Dead lags behind what sessions did that are still open: see Quiet.
func (d *Database) Cost(ctx context.Context) (c Cost, err error) {
	var pid int
	if err := d.Pool.QueryRow(ctx, costSQL).Scan(&pid, &c.WAL, &c.Dead); err != nil {
		return c, fmt.Errorf("rig: %w", err)
	}
	server, err := serverCPU(pid)
	if err != nil {
		return c, fmt.Errorf("rig: CPU time of the server: %w", err)
	}
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return c, fmt.Errorf("rig: own CPU time: %w", err)
	}
	c.CPU = server + time.Duration(own.Utime.Nano()+own.Stime.Nano())
	return c, nil
}

// tick is the kernel's USER_HZ, 100 on every platform of Linux that Go knows.
const tick = 10 * time.Millisecond

// serverCPU is the time of the postmaster that a backend belongs to, of its children, and of those that ended.
func serverCPU(backend int) (sum time.Duration, err error) {
	own, err := readStat(strconv.Itoa(backend))
	if err != nil {
		return 0, err
	}
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, dir := range all {
		switch s, err := readStat(filepath.Base(dir)); {
		case err != nil: // it has ended: the postmaster's time has it
		case s.pid == own.parent:
			sum += s.own + s.ended
		case s.parent == own.parent:
			sum += s.own
		}
	}
	return sum, nil
}

type stat struct {
	pid, parent int
	own, ended  time.Duration // of itself, and of children that it has waited for
}

// readStat reads /proc/PID/stat: what follows the name in parentheses, which may hold anything.
func readStat(pid string) (s stat, err error) {
	raw, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return s, err
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	if len(fields) < 15 {
		return s, fmt.Errorf("/proc/%s/stat has %d fields", pid, len(fields))
	}
	number := func(i int) int { n, _ := strconv.Atoi(fields[i]); return n }
	s.pid, _ = strconv.Atoi(pid)
	s.parent = number(1)
	s.own, s.ended = time.Duration(number(11)+number(12))*tick, time.Duration(number(13)+number(14))*tick
	return s, nil
}
