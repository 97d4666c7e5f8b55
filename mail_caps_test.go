package postbus_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/mail"
)

// perWindow counts what came in each window.
func perWindow(got map[time.Time]int, at time.Time, window time.Duration) { got[at.Truncate(window)]++ }

// Promise: 100 mails over a cap of 30 all arrive, in later windows, over two processes; no window has more than the cap, nothing is
// dropped and no attempt is spent on waiting.
func TestMailsOverTheCapComeInLaterWindows(t *testing.T) {
	t.Parallel()
	const window, limit, n = 4 * time.Second, 30, 100
	m := newMailing(t, func(cfg *mail.Config) { cfg.Window = window })
	other := mailConfig(m.box)
	other.Window = window
	startBus(t, m.pool, postbus.Config{App: "other", Types: []events.Type{}, Mail: other})
	m.rule(ruleTo("ada@example.com"))
	for i := range n {
		m.record(fmt.Sprint("n", i), nil)
	}
	m.box.WaitFor(t, n, time.Minute)
	for _, sent := range m.settled(mail.Sent, n) {
		if sent.Attempts != 1 {
			t.Errorf("mail %s took %d attempts", sent.ID, sent.Attempts)
		}
		job := m.job(sent)
		if job.Attempt != 1 {
			t.Errorf("job %s: attempt %d with %d snoozes", job.ID, job.Attempt, job.Snoozes)
		}
	}
	windows := map[time.Time]int{}
	for _, mailed := range m.box.Mails() {
		perWindow(windows, mailed.At, window)
	}
	t.Logf("%d mails in the windows %v", len(m.box.Mails()), windows)
	slots := one[int](t, m.pool, `select max(n) from (select count(*) as n from postbus.mails group by slot_at) as s`)
	if slots > limit || len(windows) < 4 || len(m.box.Mails()) != n {
		t.Errorf("%d mails in %d windows, %d slots of one window", len(m.box.Mails()), len(windows), slots)
	}
	for at, in := range windows {
		if in > limit+2 { // a mail may be handed over just after its window has ended
			t.Errorf("%d mails in the window of %s", in, at)
		}
	}
}

// Promise: a rule lets go of no more than its burst in a window, whoever the recipients are; the others follow.
func TestRuleLetsGoOfItsBurst(t *testing.T) {
	t.Parallel()
	const window = 3 * time.Second
	m := newMailing(t, func(cfg *mail.Config) { cfg.Window = window })
	spec := ruleTo("data.to")
	spec.Burst = 4
	m.rule(spec)
	to := make([]string, 10)
	for i := range to {
		to[i] = fmt.Sprintf("p%d@example.com", i)
	}
	m.record("n1", map[string]any{"to": to})
	m.settled(mail.Sent, len(to))
	most := one[int](t, m.pool, `select max(n) from (select count(*) as n from postbus.mails group by rule_slot_at) as s`)
	if windows := one[int](t, m.pool, `select count(distinct rule_slot_at) from postbus.mails`); most != 4 || windows != 3 {
		t.Errorf("%d mails in one of %d windows", most, windows)
	}
}
