package webhooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"testing"

	"github.com/postbus/postbus/internal/testdb"
)

const headerValue = "Bearer hunter2-is-my-password"

// leaks looks for secrets in a text, whole or in the part that counts, also in the forms that fmt and Postgres give to bytes.
func leaks(secrets []string, text string) string {
	for _, secret := range secrets {
		bare := strings.TrimPrefix(strings.TrimPrefix(secret, "whsec_"), "whsk_")
		for _, form := range []string{secret, bare, fmt.Sprintf("%x", bare), fmt.Sprint([]byte(bare))} {
			if strings.Contains(text, form) {
				return form[:8]
			}
		}
	}
	return ""
}

// A secret or a header value appears in no error, log, list, event, job's args or dump of the database.
func TestSecretsAppearNowhere(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	var log bytes.Buffer
	o := officeOn(t, pool, func(c *Config) {
		c.Log = testdb.Logged(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	created := o.endpoint(func(s *EndpointSpec) {
		s.Asymmetric, s.Headers = true, map[string]string{"Authorization": headerValue}
	})
	rotated := o.rotate(created.ID, RotateSpec{})
	o.delivery("a")
	if _, err := o.SendTest(t.Context(), created.ID); err != nil {
		t.Fatal(err)
	}
	secrets := append(o.reveal(created.ID, rotated.PreviousEndAt.Add(-1)), created.Secret, rotated.Secret, headerValue,
		strings.TrimPrefix(keyOne, "one:"))
	if len(secrets) != 7 {
		t.Fatalf("%d secrets to look for, want 7", len(secrets))
	}
	shown := map[string]string{"the log": log.String(), "errors": o.everyError(created.ID, secrets), "lists": o.everyList(created.ID)}
	target, err := o.loadTarget(t.Context(), created.ID)
	if err != nil {
		t.Fatal(err)
	}
	shown["keys in print"] = fmt.Sprintf("%+v %#v", target.keys, target.keys)
	if dump, err := exec.Command("pg_dump", pool.Config().ConnString()).CombinedOutput(); err == nil {
		shown["a dump"] = string(dump)
	} else if _, missing := exec.LookPath("pg_dump"); missing == nil {
		t.Fatalf("pg_dump: %v: %s", err, dump)
	}
	shown["rows"] = o.everyRow()
	for where, text := range shown {
		if found := leaks(secrets, text); found != "" {
			t.Errorf("%s: shows a secret that begins with %q", where, found)
		}
	}
	if !strings.Contains(shown["rows"], created.ID) || !strings.Contains(shown["lists"], created.ID) {
		t.Error("what was looked through does not hold the endpoint at all")
	}
}

// everyRow answers all rows of all tables as text.
func (o *office) everyRow() string {
	o.t.Helper()
	var all strings.Builder
	tables := one[[]string](o.t, o.pool, `select array_agg(format('%I.%I', schemaname, tablename)) from pg_tables
		where schemaname not in ('pg_catalog', 'information_schema')`)
	for _, table := range tables {
		all.WriteString(one[string](o.t, o.pool, `select coalesce(string_agg(x::text, E'\n'), '') from `+table+` as x`))
	}
	return all.String()
}

func (o *office) everyList(id string) string {
	o.t.Helper()
	ctx := o.t.Context()
	endpoint, err1 := o.Get(ctx, id)
	list, err2 := o.List(ctx, EndpointFilter{})
	keys, err3 := o.PublicKeys(ctx, id)
	deliveries, err4 := o.Deliveries(ctx, DeliveryFilter{})
	alerts, err5 := o.Alerts(ctx)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		o.t.Fatal(err)
	}
	raw, err := json.Marshal([]any{endpoint, list, keys, deliveries, alerts})
	if err != nil {
		o.t.Fatal(err)
	}
	return string(raw) + fmt.Sprintf("%+v", []any{endpoint, list, keys, deliveries, alerts})
}

// everyError provokes refusals with secrets in the input.
func (o *office) everyError(id string, secrets []string) string {
	ctx := o.t.Context()
	var errs []error
	add := func(_ any, err error) {
		if err == nil {
			o.t.Error("an error was meant")
		}
		errs = append(errs, err)
	}
	for _, secret := range secrets {
		for _, pasted := range []string{"v1," + secret, secret + "x", " " + secret} {
			add(o.Create(ctx, spec(func(s *EndpointSpec) { s.Secret = pasted })))
			add(o.RotateSecret(ctx, id, RotateSpec{Secret: pasted}))
		}
		headers := map[string]string{"host": secret}
		add(o.Create(ctx, spec(func(s *EndpointSpec) { s.Headers = headers })))
		headers = map[string]string{"x": secret + "\n"}
		add(o.Update(ctx, id, EndpointPatch{Headers: &headers}))
	}
	other := officeOn(o.t, o.pool, func(c *Config) { c.Keys = []string{"one:" + strings.TrimPrefix(keyTwo, "two:")} })
	add(nil, other.checkKeys(ctx))
	add(other.loadTarget(ctx, id))
	lacking := officeOn(o.t, o.pool, func(c *Config) { c.Keys = []string{keyTwo} })
	add(lacking.Reseal(ctx))
	add(officeOn(o.t, o.pool, func(c *Config) { c.Keys = nil }).Create(ctx, spec()))
	return errors.Join(errs...).Error()
}
