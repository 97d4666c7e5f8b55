package postbus_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/mail"
	"github.com/postbus/postbus/postbustest"
)

// mailing is a bus that mails into a box.
type mailing struct {
	*postbus.Bus
	t    testing.TB
	pool *pgxpool.Pool
	box  *postbustest.Mailbox
}

func mailConfig(box *postbustest.Mailbox) *mail.Config {
	return &mail.Config{
		Host: box.Host, Port: box.Port, TLS: mail.NoTLS, From: "Post Bus <post@example.com>", Backoff: jobs.Steps(100 * time.Millisecond),
	}
}

func newMailing(t testing.TB, change func(*mail.Config)) *mailing {
	t.Helper()
	m := &mailing{t: t, pool: testdb.New(t), box: postbustest.NewMailbox(t)}
	cfg := mailConfig(m.box)
	if change != nil {
		change(cfg)
	}
	m.Bus = startBus(t, m.pool, postbus.Config{Mail: cfg, Queues: map[string]int{mail.NotifyQueue: 4}})
	return m
}

// ruleTo is a rule that tells of every note.
func ruleTo(to ...string) mail.RuleSpec {
	return mail.RuleSpec{
		Name: "notes", Types: []string{"note.*"}, To: to, Subject: "Note {{.Subject}} has changed", Text: "Title: {{.Data.title}}\n",
	}
}

func (m *mailing) rule(spec mail.RuleSpec) mail.Rule {
	m.t.Helper()
	rule, err := m.Mail().CreateRule(m.t.Context(), spec)
	if err != nil {
		m.t.Fatal(err)
	}
	return rule
}

// record records a changed note of the owner "owner" and answers the event's id.
func (m *mailing) record(subject string, data any) string {
	m.t.Helper()
	if err := m.Recorder().Record(m.t.Context(), "owner", noteChanged.Name, subject, data); err != nil {
		m.t.Fatal(err)
	}
	event, err := m.Events().LatestFor(m.t.Context(), "owner", subject)
	if err != nil {
		m.t.Fatal(err)
	}
	return event.ID
}

// settled waits until so many mails are in the state, and answers them.
func (m *mailing) settled(state mail.State, n int) []mail.Mail {
	m.t.Helper()
	var page mail.MailPage
	wait.Eventually(m.t, time.Minute, func() (bool, string) {
		var err error
		if page, err = m.Mail().Mails(m.t.Context(), mail.MailFilter{States: []mail.State{state}, Limit: 200}); err != nil {
			m.t.Fatal(err)
		}
		return len(page.Mails) >= n, fmt.Sprintf("%d mails are %s, want %d; all: %v", len(page.Mails), state, n, m.states())
	})
	if len(page.Mails) != n {
		m.t.Fatalf("%d mails are %s, want %d: %+v", len(page.Mails), state, n, page.Mails)
	}
	return page.Mails
}

// states counts the mails, and shows one reason of each state.
func (m *mailing) states() map[string]int {
	m.t.Helper()
	rows, err := m.pool.Query(context.Background(), `select state || ': ' || coalesce(reason, '') from postbus.mails
		union all select 'job ' || kind || ' ' || state || ' ' || coalesce(errors[1] ->> 'error', '') from postbus.river_job`)
	if err != nil {
		m.t.Fatal(err)
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		m.t.Fatal(err)
	}
	counts := map[string]int{}
	for _, text := range texts {
		counts[text]++
	}
	return counts
}

// job waits until the mail's job has ended and answers it.
func (m *mailing) job(of mail.Mail) jobs.Job {
	m.t.Helper()
	m.Wait(m.t.Context(), of.JobID, 20*time.Second)
	job, err := m.Inspector().Get(m.t.Context(), of.JobID)
	if err != nil {
		m.t.Fatal(err)
	}
	return job
}

// Promise: a committed event is mailed to each recipient of the rule, once, with the event's id as its Message-ID; the job says what
// became of it.
func TestMailOfACommittedEvent(t *testing.T) {
	t.Parallel()
	m := newMailing(t, nil)
	spec := ruleTo("Ada <ada@example.com>", "data.author.email")
	spec.HTML = `<p title="{{.Data.title}}">{{.Data.title}}</p>`
	m.rule(spec)
	id := m.record("n1", map[string]any{"title": "A < B", "author": map[string]string{"email": "bob@example.com"}})
	got := m.box.WaitFor(t, 2, within)
	for _, mailed := range got {
		if mailed.Unreadable != nil || mailed.Subject() != "Note n1 has changed" || mailed.Text != "Title: A < B\r\n" ||
			mailed.HTML != `<p title="A &lt; B">A &lt; B</p>` || mailed.Header.Get("Message-ID") != "<"+id+"@example.com>" || len(mailed.To) != 1 {
			t.Errorf("%v %s\n%s", mailed.Unreadable, mailed.To, mailed.Raw)
		}
	}
	for _, sent := range m.settled(mail.Sent, 2) {
		job := m.job(sent)
		if job.State != jobs.Completed || job.Kind != mail.Notify || job.Queue != "notify" || job.MaxAttempts != 8 ||
			!strings.Contains(string(job.Result), `"state":"sent"`) {
			t.Errorf("job %+v with the result %s", job, job.Result)
		}
	}
	if n := len(m.box.Mails()); n != 2 {
		t.Errorf("%d mails", n)
	}
}

// Promise: no rule for a type, no job for its events; a rule's types hold from its commit on, and end with it.
func TestEventsWithoutARuleMakeNoJob(t *testing.T) {
	t.Parallel()
	m := newMailing(t, nil)
	count := func(subject string, want int) {
		t.Helper()
		id := m.record(subject, nil)
		fanout, ok, err := m.Events().AwaitFanout(t.Context(), id, within)
		if err != nil || !ok {
			t.Fatalf("not fanned out: %v", err)
		}
		if len(fanout) != want {
			t.Errorf("%s: jobs %v, want %d", subject, fanout, want)
		}
	}
	count("before", 0)
	spec := ruleTo("ada@example.com")
	rule := m.rule(spec)
	count("with a rule", 1)
	off, on := true, []string{"other.*"}
	if _, err := m.Mail().UpdateRule(t.Context(), rule.ID, mail.RulePatch{Types: &on}); err != nil {
		t.Fatal(err)
	}
	count("of another type", 0)
	back := []string{"note.changed"}
	if _, err := m.Mail().UpdateRule(t.Context(), rule.ID, mail.RulePatch{Types: &back}); err != nil {
		t.Fatal(err)
	}
	count("of its type again", 1)
	if _, err := m.Mail().UpdateRule(t.Context(), rule.ID, mail.RulePatch{Disabled: &off}); err != nil {
		t.Fatal(err)
	}
	count("disabled", 0)
	mustExec(t, m.pool, `update postbus.mail_rules set enabled = true`)
	count("enabled in SQL", 1)
	if err := m.Mail().DeleteRule(t.Context(), rule.ID); err != nil {
		t.Fatal(err)
	}
	count("deleted", 0)
}

// Promise: 451 first, and the mail arrives once all the same, under the Message-ID of the first attempt; the others are not mailed again.
func TestMailIsTriedAgainAfter451(t *testing.T) {
	t.Parallel()
	m := newMailing(t, nil)
	m.box.Answer(func(mailed postbustest.Mailed) error {
		if mailed.N == 1 {
			return postbustest.SMTPError(451, "try again later")
		}
		return nil
	})
	m.rule(ruleTo("ada@example.com"))
	m.record("n1", nil)
	sent := m.settled(mail.Sent, 1)[0]
	got := m.box.Mails()
	if len(got) != 2 || got[0].Header.Get("Message-ID") != got[1].Header.Get("Message-ID") || sent.Attempts != 2 {
		t.Fatalf("%d mails in %d attempts", len(got), sent.Attempts)
	}
	job := m.job(sent)
	if job.Attempt != 2 || len(job.Errors) != 1 || !strings.Contains(job.Errors[0].Error, "451") || !strings.Contains(job.Errors[0].Error, "try again later") {
		t.Errorf("job %+v", job)
	}
}

// Promise: 5xx about a recipient ends that mail at once, with the server's words, and raises an alert; the others go their way.
func TestRefusedRecipientIsDiscarded(t *testing.T) {
	t.Parallel()
	m := newMailing(t, nil)
	m.box.Refuse(func(to string) error {
		if to == "gone@example.com" {
			return postbustest.SMTPError(550, "no such user here")
		}
		return nil
	})
	m.rule(ruleTo("gone@example.com", "ada@example.com"))
	m.record("n1", nil)
	failed := m.settled(mail.Failed, 1)[0]
	m.settled(mail.Sent, 1)
	job := m.job(failed)
	if job.State != jobs.Discarded || job.Attempt != 1 || !strings.Contains(failed.Reason, "no such user here") || !strings.Contains(job.Errors[0].Error, "550") {
		t.Errorf("%+v\n%+v", failed, job)
	}
	alerts, err := m.Alerts(t.Context())
	if err != nil || len(alerts) == 0 {
		t.Errorf("alerts %v, %v; want one for the discarded job", alerts, err)
	}
}

// Promise: with no server the job completes and says so, and nothing alerts.
func TestWithoutAServerTheJobCompletesAndSaysSo(t *testing.T) {
	t.Parallel()
	m := newMailing(t, func(cfg *mail.Config) { *cfg = mail.Config{} })
	m.rule(ruleTo("ada@example.com"))
	m.record("n1", nil)
	failed := m.settled(mail.Failed, 1)[0]
	job := m.job(failed)
	var result struct{ State, Reason string }
	if err := json.Unmarshal(job.Result, &result); err != nil || job.State != jobs.Completed || result.State != "failed" || !strings.Contains(result.Reason, "no mail server is configured") {
		t.Errorf("job %s with the result %s (%v)", job.State, job.Result, err)
	}
	if alerts, err := m.Alerts(context.Background()); err != nil || len(alerts) > 0 {
		t.Errorf("alerts %v, %v", alerts, err)
	}
}

// Promise: a process without a server loses no mail that another could send.
func TestAProcessWithoutAServerLeavesMailsToOneThatHasOne(t *testing.T) {
	t.Parallel()
	m := newMailing(t, nil)
	other := startBus(t, m.pool, postbus.Config{App: "other", Types: []events.Type{}, Mail: &mail.Config{}, Queues: map[string]int{mail.NotifyQueue: 8}})
	m.rule(ruleTo("ada@example.com"))
	for i := range 20 {
		m.record(fmt.Sprint("n", i), nil)
	}
	// Each takes some. What the one without a server took is sent all the same, at the latest once that one is gone.
	eventually(t, time.Minute, m.pool, 20, `select count(*) from postbus.river_job where kind = 'owner.notify' and (state = 'completed' or metadata ? 'snoozes')`)
	if err := other.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.settled(mail.Sent, 20)
	if n := one[int](t, m.pool, `select count(*) from postbus.mails where state = 'failed'`); n != 0 {
		t.Errorf("%d mails were given up beside a server", n)
	}
	if n := len(m.box.Mails()); n != 20 {
		t.Errorf("the server got %d mails, want each once: 20", n)
	}
}
