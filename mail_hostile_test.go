package postbus_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/mail"
	"github.com/postbus/postbus/postbustest"
)

// hostileMailing takes events of up to 16 MiB, and has a rule that puts their data everywhere.
func hostileMailing(t *testing.T) *mailing {
	t.Helper()
	m := &mailing{t: t, pool: testdb.New(t), box: postbustest.NewMailbox(t)}
	m.Bus = startBus(t, m.pool, postbus.Config{Mail: mailConfig(m.box), MaxDataBytes: 16 << 20})
	m.rule(mail.RuleSpec{
		Name: "everything", Types: []string{"*"}, To: []string{"data.to"}, Subject: "{{.Data.title}}", Text: "{{.Data.body}}",
		HTML: `<a href="{{truncate 99 .Data.title}}" onclick="f({{truncate 99 .Data.title}})">{{.Data.body}}</a>`,
	})
	return m
}

type note struct {
	To    any    `json:"to"`
	Title string `json:"title"`
	Body  string `json:"body"`
}

// ours are the headers that a mail has.
var ours = []string{"Auto-Submitted", "Content-Type", "Date", "From", "Message-Id", "Mime-Version", "Subject", "To"}

// Promise: nothing in an event's data becomes a header, a recipient or another mail.
func TestHostileDataStayText(t *testing.T) {
	t.Parallel()
	m := hostileMailing(t)
	titles := map[string]string{ // and how they arrive
		"line breaks":     "Hi\r\nBcc: victim@example.com\r\n\r\nAnother mail",
		"bare breaks":     "a\nBcc: v@example.com\rX-Evil: 1\x01\x0b\u2028b",
		"an encoded word": "=?utf-8?q?a=0D=0ABcc=3A_v=40example.com?=",
		"long":            strings.Repeat("long words ", 100_000),
		"one long word":   strings.Repeat("é", 1_000_000),
		"turned around":   "invoice \u202egpj.exe\u2066 x",
		"emoji and RTL":   "🎉 שלום مرحبا 👩‍👩‍👧",
		"end of data":     "\r\n.\r\nMAIL FROM:<evil@example.com>\r\n",
	}
	want := map[string]string{
		"line breaks":     "Hi Bcc: victim@example.com Another mail",
		"bare breaks":     "a Bcc: v@example.com X-Evil: 1 b",
		"an encoded word": "= ?utf-8?q?a=0D=0ABcc=3A_v=40example.com?=",
		"long":            strings.Repeat("long words ", 22) + "long wo…",
		"one long word":   strings.Repeat("é", 249) + "…",
		"turned around":   "invoice gpj.exe x",
		"emoji and RTL":   "🎉 שלום مرحبا 👩‍👩‍👧",
		"end of data":     ". MAIL FROM:<evil@example.com>",
	}
	for name, title := range titles {
		m.record(name, note{To: `"` + name + `" <ada@example.com>`, Title: title, Body: name + "\r\n.\r\nQUIT\r\n" + cutTo(title, 1000)})
	}
	got := map[string]string{}
	m.settled(mail.Sent, len(titles))
	for _, mailed := range m.box.Mails() {
		name, _, _ := strings.Cut(mailed.Text, "\r\n")
		got[name] = mailed.Subject()
		keys := slices.Sorted(maps.Keys(mailed.Header))
		if diff := cmp.Diff(ours, keys); diff != "" || mailed.Unreadable != nil || len(mailed.To) != 1 || mailed.To[0] != "ada@example.com" {
			t.Errorf("%s: %v, to %v, headers (-want +got):\n%s", name, mailed.Unreadable, mailed.To, diff)
		}
		for line := range strings.Lines(string(mailed.Raw)) {
			if len(line) > 1000 {
				t.Errorf("%s: a line of %d bytes", name, len(line))
			}
		}
		if !strings.Contains(mailed.Text, "QUIT\r\n") || strings.Contains(mailed.HTML, `href="javascript`) {
			t.Errorf("%s: the body is cut:\n%s", name, mailed.Raw)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("subjects (-want +got):\n%s", diff)
	}
}

func cutTo(s string, n int) string { return s[:min(n, len(s))] }

// Promise: a recipient that is no address is refused by itself, with the reason; the others get their mail, those with names in other
// scripts too.
func TestHostileRecipientsAreRefusedByThemselves(t *testing.T) {
	t.Parallel()
	m := hostileMailing(t)
	bad := []any{
		"nobody", "a@b@example.com", "a@-.com", "@example.com", "a@", "", " ", 42, nil, "a@example.com\r\nBcc: v@example.com", "a@example.com, b@example.com",
		"Evil\r\nBcc: v@example.com <a@example.com>", "undisclosed: a@example.com, b@example.com;", `"a b"@example.com`, "a@[127.0.0.1]", "a@example.com\x01",
		strings.Repeat("a", 65) + "@example.com", "a@" + strings.Repeat("b", 64) + ".com", "a@example..com", strings.Repeat("x", 1<<20) + "@example.com", "a@exa mple.com",
		"\u202ea@example.com",
	}
	good := map[string]string{ // as the server is told
		"plain@example.com": "plain@example.com", "Ada <named@Example.COM>": "named@example.com", "idn@bücher.example": "idn@xn--bcher-kva.example",
		"jürgen@example.com": "jürgen@example.com", `"Eve, \" the <x@y.z>" <eve@example.com>`: "eve@example.com", "plus+tag@example.com": "plus+tag@example.com",
	}
	m.record("n1", note{To: append(slices.Clone(bad), anys(slices.Sorted(maps.Keys(good)))...), Title: "t", Body: "b"})
	m.settled(mail.Sent, len(good))
	var got []string
	for _, mailed := range m.box.Mails() {
		got = append(got, mailed.To...)
		if to, err := mailed.Header.AddressList("To"); err != nil || len(to) != 1 {
			t.Errorf("To %q: %v", mailed.Header.Get("To"), err)
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Values(good)), slices.Sorted(slices.Values(got))); diff != "" {
		t.Errorf("recipients (-want +got):\n%s", diff)
	}
	for _, failed := range m.settled(mail.Failed, len(bad)-4) { // what reads the same without its control characters is refused once
		if job := m.job(failed); job.State != jobs.Discarded || failed.Reason == "" || len(failed.Recipient) > 1000 {
			t.Errorf("%s: %s, %q", failed.Recipient, job.State, failed.Reason)
		}
	}
}

func anys(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}

// Promise: 10 MB of data make no mail of 10 MB and block nothing: the mail is discarded with the limit, and the next one goes.
func TestTenMegabytesOfDataDoNotBlockTheQueue(t *testing.T) {
	t.Parallel()
	m := hostileMailing(t)
	m.record("big", note{To: "ada@example.com", Title: "big", Body: strings.Repeat("y", 10<<20)})
	m.record("big title", note{To: "bob@example.com", Title: strings.Repeat("x", 10<<20), Body: "small"})
	m.record("small", note{To: "eve@example.com", Title: "small", Body: "small"})
	failed := m.settled(mail.Failed, 1)[0]
	if job := m.job(failed); job.State != jobs.Discarded || job.Attempt != 1 || !strings.Contains(failed.Reason, "1048576 bytes, the limit of a mail's body") {
		t.Errorf("%s: %s, %q", failed.Recipient, job.State, failed.Reason)
	}
	m.settled(mail.Sent, 2)
	for _, mailed := range m.box.Mails() {
		if len(mailed.Raw) > 16<<10 {
			t.Errorf("a mail of %d bytes to %v", len(mailed.Raw), mailed.To)
		}
	}
}
