package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/postbustest"
)

// after answers each message after a while.
func after(d time.Duration) func(postbustest.Message) postbustest.Answer {
	return func(postbustest.Message) postbustest.Answer { return postbustest.Answer{Wait: d} }
}

// On SIGTERM what is in flight ends, within 20 s; what was committed before and during it is delivered by the next process, and
// nothing twice.
func TestServeDrains(t *testing.T) {
	t.Parallel()
	h := hook(t, testdb.New(t), 2, 4)
	h.receiver.Answer(after(300 * time.Millisecond))
	s := serving{database: h.pool.Config().ConnString(), env: hookSettings()}.start(t)
	s.eventually(t, "/readyz", http.StatusOK, "ready")
	h.record(t, 60)
	h.receiver.WaitFor(t, 10, time.Minute)
	ended := make(chan time.Duration)
	go func() { ended <- s.end(t) }()
	h.record(t, 20)
	if took := <-ended; took > 20*time.Second {
		t.Errorf("it took %s to end", took)
	}
	if n := len(h.receiver.Messages()); n >= h.sent*h.ends {
		t.Errorf("all %d had come before it ended: nothing was drained", n)
	}
	h.receiver.Answer(nil)
	next := serving{database: h.pool.Config().ConnString(), env: hookSettings()}.start(t)
	if doubles := h.delivered(t); doubles > 0 {
		t.Errorf("%d requests were made again", doubles)
	}
	next.end(t)
}

// Two instances share the work, nothing is sent twice; when one is killed the other takes over, and what had no record of its
// end is sent again, at most once for each request that was in flight.
func TestTwoServe(t *testing.T) {
	t.Parallel()
	h := hook(t, testdb.New(t), 8, 4)
	h.receiver.Answer(after(20 * time.Millisecond))
	config := serving{database: h.pool.Config().ConnString(), env: hookSettings()}
	one, two := config.start(t), config.start(t)
	one.eventually(t, "/readyz", http.StatusOK, "ready")
	two.eventually(t, "/readyz", http.StatusOK, "ready")
	h.record(t, 60)
	if doubles := h.delivered(t); doubles > 0 {
		t.Errorf("%d requests were made twice", doubles)
	}
	by := h.lanes(t)
	t.Logf("lanes by instance: %v", by)
	if len(by) != 2 {
		t.Errorf("%d instances have delivered, want both", len(by))
	}

	before := len(h.receiver.Messages())
	h.record(t, 60)
	h.receiver.WaitFor(t, before+40, time.Minute)
	if err := one.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	h.record(t, 20)
	doubles := h.delivered(t)
	t.Logf("%d requests were made again after the kill", doubles)
	if doubles > 8*4 {
		t.Errorf("%d requests were made again; at most %d were in flight", doubles, 8*4)
	}
	two.end(t)
}
