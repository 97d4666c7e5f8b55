package faults

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
)

// recorder is a testing.TB that remembers how a case went instead of failing the test that runs it.
type recorder struct {
	testing.TB // of the test that runs the case
	ctx        context.Context
	cancel     context.CancelFunc

	mu       sync.Mutex
	failed   bool
	lines    []string
	cleanups []func()
}

// record runs the case on a goroutine of its own, which FailNow ends, and its cleanups after it.
func record(t testing.TB, run func(t testing.TB)) *recorder {
	r := &recorder{TB: t}
	r.ctx, r.cancel = context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		defer r.clean()
		defer r.cancel()
		defer r.catch()
		run(r)
	})
	done.Wait()
	return r
}

func (r *recorder) catch() {
	if value := recover(); value != nil {
		r.Errorf("panic: %v\n%s", value, debug.Stack())
	}
}

// clean runs the cleanups, last first, each though another ends the goroutine.
func (r *recorder) clean() {
	r.mu.Lock()
	last := len(r.cleanups) - 1
	if last < 0 {
		r.mu.Unlock()
		return
	}
	fn := r.cleanups[last]
	r.cleanups = r.cleanups[:last]
	r.mu.Unlock()
	defer r.clean()
	defer r.catch()
	fn()
}

// said answers whether the case failed and, in any of its complaints, said what is asked for.
func (r *recorder) said(part string) (failed, said bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed, strings.Contains(strings.Join(r.lines, "\n"), part)
}

// text is everything that the case complained about.
func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "\n")
}

func (r *recorder) complain(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
	if text != "" {
		r.lines = append(r.lines, text)
	}
}

func (r *recorder) Context() context.Context { return r.ctx }

func (r *recorder) Cleanup(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, fn)
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) Output() io.Writer                 { return io.Discard }
func (r *recorder) Helper()                           {}
func (r *recorder) Log(...any)                        {}
func (r *recorder) Logf(string, ...any)               {}
func (r *recorder) Fail()                             { r.complain("") }
func (r *recorder) Error(args ...any)                 { r.complain(fmt.Sprintln(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.complain(fmt.Sprintf(format, args...)) }

func (r *recorder) FailNow() {
	r.complain("")
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) {
	r.complain(fmt.Sprintln(args...))
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.complain(fmt.Sprintf(format, args...))
	runtime.Goexit()
}
