package postbus_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/mail"
	"github.com/postbus/postbus/postbustest"
)

// again runs the jobs of a kind once more, and waits for them.
func (m *mailing) again(kind string) {
	m.t.Helper()
	page, err := m.Inspector().List(m.t.Context(), jobs.Filter{Kinds: []string{kind}})
	if err != nil || len(page.Jobs) == 0 {
		m.t.Fatalf("no jobs of %s: %v", kind, err)
	}
	for _, job := range page.Jobs {
		if _, err := m.Inspector().Retry(m.t.Context(), job.ID); err != nil {
			m.t.Fatal(err)
		}
		if state, final := m.Wait(m.t.Context(), job.ID, within); !final || state != jobs.Completed {
			m.t.Fatalf("job %s of %s is %s", job.ID, kind, state)
		}
	}
}

// Promise: neither a fan-out nor a mail's job that runs again mails anybody twice, though one job was made new since.
func TestMailsAreNotRepeated(t *testing.T) {
	t.Parallel()
	m := newMailing(t, nil)
	m.rule(ruleTo("ada@example.com", "bob@example.com", "Ada <ADA@example.com>"))
	m.record("n1", nil)
	m.settled(mail.Sent, 2)
	m.again(mail.Fanout)
	m.again(mail.Notify)
	mustExec(t, m.pool, `delete from postbus.river_job where kind = 'owner.notify'`)
	m.again(mail.Fanout)
	m.settled(mail.Sent, 2)
	if n := len(m.box.Mails()); n != 2 {
		t.Errorf("%d mails", n)
	}
}

// Promise: two rules that mail one event to one recipient are two mails with two Message-IDs, so that no mail program hides one.
func TestTwoRulesToOneRecipient(t *testing.T) {
	t.Parallel()
	m := newMailing(t, nil)
	m.rule(ruleTo("ada@example.com"))
	m.rule(ruleTo("ada@example.com"))
	id := m.record("n1", nil)
	var got []string
	for _, sent := range m.settled(mail.Sent, 2) {
		got = append(got, sent.MessageID)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"<" + id + ".2@example.com>", "<" + id + "@example.com>"}, got); diff != "" {
		t.Errorf("Message-IDs (-want +got):\n%s", diff)
	}
}

// Promise: rules that many make at the same time are all heard of; the owner of a rule is the only one whose events it mails.
func TestRulesMadeTogetherAreAllHeardOf(t *testing.T) {
	t.Parallel()
	m := newMailing(t, nil)
	insert := `insert into postbus.mail_rules (name, owner_id, types, recipients, subject, text_body) values ($1, 'stranger', array[$1 || '.*'], array['a@example.com'], 's', 't')`
	tx, err := m.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), insert, "one"); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := m.pool.Exec(context.Background(), insert, "two"); err != nil {
			t.Error(err)
		}
	})
	wait.Eventually(t, within, func() (bool, string) {
		return one[int](t, m.pool, `select count(*) from pg_stat_activity where wait_event_type = 'Lock'
			and query like '%insert into postbus.mail_rules%' and datname = current_database()`) > 0, "the second rule does not wait for the first"
	})
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if types := one[string](t, m.pool, `select array_to_string(types, ' ') from postbus.subscriptions where name = 'mail.rules'`); types != "one.* two.*" {
		t.Errorf("the subscription has the types %s", types)
	}
	spec := ruleTo("ada@example.com")
	spec.OwnerID = "stranger"
	m.rule(spec)
	m.record("n1", nil) // of "owner"
	eventually(t, within, m.pool, 1, `select count(*) from postbus.river_job where kind = 'mail.rules' and state = 'completed'`)
	if n := one[int](t, m.pool, `select count(*) from postbus.mails`); n != 0 {
		t.Errorf("%d mails of another owner's event", n)
	}
}

// Promise: rules in Config are written at the start, go when they are left out, and are changed only there.
func TestDeclaredRules(t *testing.T) {
	t.Parallel()
	m := newMailing(t, func(cfg *mail.Config) {
		kept, gone := ruleTo("ada@example.com"), ruleTo("bob@example.com")
		kept.Name, gone.Name = "kept", "gone"
		cfg.Rules = []mail.RuleSpec{kept, gone}
	})
	page, err := m.Mail().Rules(t.Context(), mail.RuleFilter{})
	if err != nil || len(page.Rules) != 2 || page.Rules[0].App != "app" {
		t.Fatalf("%+v, %v", page, err)
	}
	name := "another"
	if _, err := m.Mail().UpdateRule(t.Context(), page.Rules[0].ID, mail.RulePatch{Name: &name}); !errors.Is(err, mail.ErrConflict) {
		t.Errorf("a declared rule was changed: %v", err)
	}
	cfg := mailConfig(m.box)
	cfg.Rules = []mail.RuleSpec{ruleTo("eve@example.com")}
	cfg.Rules[0].Name = "kept"
	startBus(t, m.pool, postbus.Config{Mail: cfg})
	page, err = m.Mail().Rules(t.Context(), mail.RuleFilter{})
	if err != nil || len(page.Rules) != 1 || page.Rules[0].Name != "kept" || page.Rules[0].To[0] != "eve@example.com" {
		t.Errorf("%+v, %v", page, err)
	}
}

// Promise: what waits for a rule that is deleted, or whose job is cancelled, ends as failed with the reason, and nothing alerts.
func TestMailsOfADeletedRuleAreGivenUp(t *testing.T) {
	t.Parallel()
	m := newMailing(t, func(cfg *mail.Config) { cfg.Backoff = jobs.Steps(time.Hour) })
	m.box.Refuse(func(string) error { return postbustest.SMTPError(451, "not now") })
	rule := m.rule(ruleTo("ada@example.com", "bob@example.com"))
	m.record("n1", nil)
	waiting := m.settled(mail.Sending, 2)
	eventually(t, within, m.pool, 2, `select count(*) from postbus.river_job where kind = 'owner.notify' and attempt = 1 and state in ('available', 'retryable', 'scheduled')`)
	if _, err := m.Inspector().Cancel(t.Context(), waiting[0].JobID); err != nil {
		t.Fatal(err)
	}
	if err := m.Mail().DeleteRule(t.Context(), rule.ID); err != nil {
		t.Fatal(err)
	}
	m.box.Refuse(func(string) error { return nil })
	if _, err := m.Inspector().Retry(t.Context(), waiting[1].JobID); err != nil {
		t.Fatal(err)
	}
	if job := m.job(waiting[1]); job.State != jobs.Completed || !strings.Contains(string(job.Result), "the rule was deleted") {
		t.Errorf("job %s with the result %s", job.State, job.Result)
	}
	mustExec(t, m.pool, `update postbus.mails set created_at = created_at - interval '5 minutes'`)
	if _, err := m.Inspector().RunPeriodic(t.Context(), "app", "mail.sweep"); err != nil {
		t.Fatal(err)
	}
	for _, failed := range m.settled(mail.Failed, 2) {
		if failed.Reason == "" {
			t.Errorf("%+v has no reason", failed)
		}
	}
	if alerts, err := m.Alerts(t.Context()); err != nil || len(alerts) > 0 || len(m.box.Mails()) > 0 {
		t.Errorf("alerts %v, %v; %d mails", alerts, err, len(m.box.Mails()))
	}
}

// Promise: a test goes by one rule to one address, disabled or not, and a template that fails on its data is refused at once.
func TestSendTest(t *testing.T) {
	t.Parallel()
	m := newMailing(t, nil)
	spec := ruleTo("ada@example.com")
	spec.Disabled, spec.Text = true, "{{index .Data.list 0}}"
	rule := m.rule(spec)
	every := ruleTo("bob@example.com")
	every.Types = []string{"*"}
	m.rule(every)
	if _, err := m.Mail().SendTest(t.Context(), rule.ID, "me@example.com", nil); !errors.Is(err, mail.ErrInvalid) {
		t.Errorf("a template that fails: %v", err)
	}
	if _, err := m.Mail().SendTest(t.Context(), rule.ID, "me@example.com\r\nBcc: v@example.com", nil); !errors.Is(err, mail.ErrInvalid) {
		t.Errorf("an address that is two: %v", err)
	}
	if _, err := m.Mail().SendTest(t.Context(), rule.ID, "me@example.com", []byte(`{"list": ["first"]}`)); err != nil {
		t.Fatal(err)
	}
	sent := m.settled(mail.Sent, 1)[0]
	eventually(t, within, m.pool, 1, `select count(*) from postbus.river_job where kind = 'mail.rules' and state = 'completed'`)
	m.settled(mail.Sent, 1) // rules for every type do not mail tests
	if n := one[int](t, m.pool, `select count(*) from postbus.mails`); n != 1 {
		t.Errorf("%d mails of one test", n)
	}
	if got := m.box.Mails()[0]; !sent.Test || got.To[0] != "me@example.com" || strings.TrimSpace(got.Text) != "first" {
		t.Errorf("%+v: %s", sent, got.Raw)
	}
}
