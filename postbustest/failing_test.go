package postbustest_test

import (
	"runtime"
	"testing"
)

// failing notes that it failed and ends its goroutine, where a *testing.T would fail the test.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Fatalf(string, ...any) {
	f.failed = true
	runtime.Goexit()
}
