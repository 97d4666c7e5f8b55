package postbus_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/mail"
	"github.com/postbus/postbus/postbustest"
)

// mailerApp begins the name of the application whose child process mails; the port of its box follows.
const mailerApp = "mailer.p"

func boxOf(app string) (*postbustest.Mailbox, bool) {
	port, ok := strings.CutPrefix(app, mailerApp)
	n, err := strconv.Atoi(port)
	return &postbustest.Mailbox{Host: "127.0.0.1", Port: n}, ok && err == nil
}

// mailCrasher has a database, a bus here that makes rules and events but does not run, and children that mail into the box.
func mailCrasher(t *testing.T) (*crasher, *mailing, string) {
	t.Helper()
	url := testdb.URL(t)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	m := &mailing{t: t, pool: pool, box: postbustest.NewMailbox(t)}
	app := fmt.Sprint(mailerApp, m.box.Port)
	if m.Bus, err = postbus.New(pool, crashConfig(pool, app)); err != nil {
		t.Fatal(err)
	}
	if err := m.Declare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &crasher{t: t, pool: pool, url: url, rec: m.Recorder()}, m, app
}

// Promise: killed after the server took the mail and before that is marked, the mail is sent once more, under the same Message-ID, and
// the recipient who was done is not mailed again.
func TestMailKilledBeforeTheMarkIsSentAgain(t *testing.T) {
	t.Parallel()
	c, m, app := mailCrasher(t)
	m.rule(ruleTo("ada@example.com", "bob@example.com"))
	tx, err := c.pool.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	var once sync.Once
	m.box.Answer(func(mailed postbustest.Mailed) error { // between DATA and 250 the row of ada's mail is taken: her mark has to wait
		if mailed.To[0] == "ada@example.com" {
			once.Do(func() {
				if _, err := tx.Exec(context.Background(), `select from postbus.mails where recipient = 'ada@example.com' for update`); err != nil {
					t.Error(err)
				}
			})
		}
		return nil
	})
	child := c.spawnApp(app)
	defer c.kill(child)
	id := m.record("n1", nil)
	wait.Eventually(t, within, func() (bool, string) {
		return one[int](t, c.pool, `select count(*) from pg_stat_activity where wait_event_type = 'Lock'
			and query like '%state = ''sent''%' and datname = current_database()`) > 0, "no mark waits"
	})
	eventually(t, within, c.pool, 1, `select count(*) from postbus.mails where recipient = 'bob@example.com' and state = 'sent'`)
	c.kill(child)
	// The mark has reached the server, which would make it although nobody waits for the answer: take it back as if it had not.
	mustExec(t, c.pool, `select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock'
		and query like '%state = ''sent''%' and datname = current_database()`)
	if err := tx.Rollback(context.Background()); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	next := c.spawnApp(app)
	defer c.kill(next)
	m.settled(mail.Sent, 2)
	t.Logf("marked %s after the kill", time.Since(killed).Round(time.Millisecond))
	counts := map[string]int{}
	for _, mailed := range m.box.Mails() {
		counts[mailed.To[0]]++
		if got := mailed.Header.Get("Message-ID"); got != "<"+id+"@example.com>" {
			t.Errorf("Message-ID %s", got)
		}
	}
	if counts["ada@example.com"] != 2 || counts["bob@example.com"] != 1 {
		t.Errorf("mails by recipient: %v", counts)
	}
}
