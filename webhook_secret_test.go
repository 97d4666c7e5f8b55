package postbus_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/postbustest"
	"github.com/postbus/postbus/webhooks"
	"github.com/postbus/postbus/webhooks/verify"
)

// logged is a log that a test reads.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// accepts says whether a message is signed with the secret.
func accepts(t testing.TB, secret string, m postbustest.Message) bool {
	t.Helper()
	v, err := verify.New(secret)
	if err != nil {
		t.Fatal(err)
	}
	_, err = v.Verify(m.Header, m.Body)
	return err == nil
}

// After a rotation both secrets verify while they overlap, then the new one only; an asymmetric key rotates alike.
func TestRotationOverlaps(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	bus := startBus(t, pool, withWebhooks(postbus.Config{}))
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{Asymmetric: true})
	overlap := 3 * time.Second
	rotated, err := bus.Webhooks().RotateSecret(t.Context(), made.Endpoint.ID, webhooks.RotateSpec{Overlap: &overlap})
	if err != nil {
		t.Fatal(err)
	}
	if rotated.Secret == made.Secret {
		t.Fatal("the secret did not change")
	}
	change(t, pool, bus, "n1", nil)
	m := receiver.WaitFor(t, 1, within)[0]
	if !accepts(t, made.Secret, m) || !accepts(t, rotated.Secret, m) || !accepts(t, made.PublicKey, m) {
		t.Errorf("during the overlap: old %v, new %v, public key %v", accepts(t, made.Secret, m), accepts(t, rotated.Secret, m), accepts(t, made.PublicKey, m))
	}
	wait.Eventually(t, within, func() (bool, string) {
		receiver.Forget()
		change(t, pool, bus, "n2", nil)
		m = receiver.WaitFor(t, 1, within)[0]
		return !accepts(t, made.Secret, m), "the old secret still verifies"
	})
	if !accepts(t, rotated.Secret, m) {
		t.Error("after the overlap the new secret does not verify")
	}
}

// A test reaches the endpoint that it names and no other.
func TestSendTestReachesOneEndpoint(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	one, other := postbustest.NewReceiver(t), postbustest.NewReceiver(t)
	bus := startBus(t, pool, withWebhooks(postbus.Config{}))
	made := endpointTo(t, bus, one, webhooks.EndpointSpec{Types: []string{"*"}})
	endpointTo(t, bus, other, webhooks.EndpointSpec{Types: []string{"*"}})
	d, err := bus.Webhooks().SendTest(t.Context(), made.Endpoint.ID)
	if err != nil || d.Origin != webhooks.FromTest {
		t.Fatalf("%+v, %v", d, err)
	}
	m := one.WaitFor(t, 1, within)[0]
	settle(t, pool)
	if m.Type != webhooks.Test || m.Unverified != nil || len(other.Messages()) != 0 || len(one.Messages()) != 1 {
		t.Errorf("%s, %v; the other got %d", m.Type, m.Unverified, len(other.Messages()))
	}
}

// The promise: a secret is shown once. It is in no log, list, error or job, nor in the clear in any table.
func TestSecretsStayHidden(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	receiver.Answer(func(m postbustest.Message) postbustest.Answer { return postbustest.Answer{Status: 200 + 300*(m.N%2)} })
	log := &logged{}
	cfg := withWebhooks(postbus.Config{Log: testdb.Logged(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	bus := startBus(t, pool, cfg)
	const header = "Bearer the-value-of-a-custom-header"
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{Asymmetric: true, Headers: map[string]string{"Authorization": header}})
	rotated, err := bus.Webhooks().RotateSecret(t.Context(), made.Endpoint.ID, webhooks.RotateSpec{})
	if err != nil {
		t.Fatal(err)
	}
	change(t, pool, bus, "n1", nil)
	deliveries(t, bus, made.Endpoint.ID, webhooks.Delivered, 1)
	if got := receiver.Messages()[0].Header.Get("Authorization"); got != header {
		t.Errorf("the custom header came as %q", got)
	}
	endpoint, err := bus.Webhooks().Get(t.Context(), made.Endpoint.ID)
	shown := fmt.Sprintf("%+v %v", endpoint, err) + log.String()
	for _, text := range everything(t, pool) {
		shown += text
	}
	for _, secret := range []string{made.Secret, rotated.Secret, testKey, header} {
		for _, form := range formsOf(t, secret) {
			if strings.Contains(shown, form) {
				t.Errorf("%.12s… is somewhere in the clear, as %.12s…", secret, form)
			}
		}
	}
	if !strings.Contains(shown, made.Endpoint.ID) {
		t.Error("the search looks at nothing")
	}
}

// formsOf are the ways in which a secret could be written.
func formsOf(t testing.TB, secret string) []string {
	t.Helper()
	bare := secret[strings.LastIndexAny(secret, "_: ")+1:]
	forms := []string{bare, hex.EncodeToString([]byte(bare)), base64.StdEncoding.EncodeToString([]byte(secret))}
	if raw, err := base64.StdEncoding.DecodeString(bare); err == nil {
		forms = append(forms, hex.EncodeToString(raw))
	}
	return forms
}

// everything is the text of all rows of all tables of the schema, bytea in hex.
func everything(t testing.TB, pool *pgxpool.Pool) (out []string) {
	t.Helper()
	tables, err := pool.Query(t.Context(), `select c.oid::regclass::text from pg_class c where c.relkind = 'r' and c.relnamespace = 'postbus'::regnamespace`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(tables, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		out = append(out, one[string](t, pool, `select coalesce(string_agg(r::text, ' '), '') from `+name+` as r`))
	}
	return out
}
