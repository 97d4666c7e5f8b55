package webhooks

import (
	"errors"
	"strings"
	"testing"

	"github.com/postbus/postbus/internal/testdb"
)

// Boot fails with a clear sentence where endpoints exist and the key is absent or wrong.
func TestBootChecksTheKeys(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	with := func(keys ...string) *office { return officeOn(t, pool, func(c *Config) { c.Keys = keys }) }
	if err := with().checkKeys(t.Context()); err != nil {
		t.Fatalf("without endpoints no key is needed: %v", err)
	}
	with(keyOne).endpoint(func(s *EndpointSpec) { s.Headers = map[string]string{"a": "b"} })
	with(keyTwo, keyOne).endpoint()
	for _, c := range []struct {
		keys []string
		says string // "" is fine
	}{
		{[]string{keyOne, keyTwo}, ""},
		{[]string{keyTwo, keyOne}, ""},
		{nil, "2 endpoints exist, sealed with the key \"one\", and no key is configured: set Config.Keys"},
		{[]string{keyOne}, `"two" sealed a stored secret, configured are "one"`},
		{[]string{keyTwo}, `"one" sealed a stored secret`},
		{[]string{keyTwo, "one:" + strings.TrimPrefix(keyTwo, "two:")}, `"one" is configured with other bytes`},
	} {
		err := with(c.keys...).checkKeys(t.Context())
		if c.says == "" && err == nil {
			continue
		}
		if !errors.Is(err, ErrNoKey) || c.says == "" || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d keys: %v, want ErrNoKey that says %q", len(c.keys), err, c.says)
		}
	}
}

// A key that sealed headers only is checked, too.
func TestBootChecksTheKeyOfHeaders(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	o := officeOn(t, pool, func(c *Config) { c.Keys = []string{keyOne} })
	id := o.endpoint().ID
	officeOn(t, pool, func(c *Config) { c.Keys = []string{keyTwo, keyOne} }).update(id, EndpointPatch{Headers: &map[string]string{"a": "b"}})
	if err := o.checkKeys(t.Context()); !errors.Is(err, ErrNoKey) || !strings.Contains(err.Error(), `"two"`) {
		t.Errorf("%v, want ErrNoKey that names the key two", err)
	}
	if e, err := o.Get(t.Context(), id); err != nil || e.HeaderNames != nil {
		t.Errorf("a reader without the key: %v, %v; want the endpoint without its header names", e, err)
	}
}

func TestResealMovesEverythingToTheCurrentKey(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	before := officeOn(t, pool, nil)
	created := before.endpoint(func(s *EndpointSpec) { s.Headers, s.Asymmetric = map[string]string{"a": "b"}, true })
	for range 120 { // more than a batch
		before.endpoint()
	}
	both := officeOn(t, pool, func(c *Config) { c.Keys = []string{keyTwo, keyOne} })
	if n, err := both.Reseal(t.Context()); n != 123 || err != nil {
		t.Errorf("sealed %d anew, %v; want 123", n, err)
	}
	if n, err := both.Reseal(t.Context()); n != 0 || err != nil {
		t.Errorf("a second time: %d, %v", n, err)
	}
	after := officeOn(t, pool, func(c *Config) { c.Keys = []string{keyTwo} })
	if err := after.checkKeys(t.Context()); err != nil {
		t.Error(err)
	}
	got, err := after.loadTarget(t.Context(), created.ID)
	if err != nil || got.headers.Get("a") != "b" || len(got.keys) != 2 {
		t.Errorf("%d headers, %d keys, %v", len(got.headers), len(got.keys), err)
	}
}

// What cannot be opened is named and does not keep the rest from being sealed anew.
func TestResealPassesOverWhatItCannotOpen(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	for range 3 {
		o.endpoint()
	}
	lost := o.endpoint().ID
	o.exec(`update postbus.webhook_secrets set key_id = 'lost' where endpoint_id = $1`, lost)
	both := officeOn(t, o.pool, func(c *Config) { c.Keys = []string{keyTwo, keyOne} })
	n, err := both.Reseal(t.Context())
	if n != 3 || !errors.Is(err, ErrNoKey) || !strings.Contains(err.Error(), lost) {
		t.Errorf("sealed %d anew, %v; want 3 and the endpoint's name", n, err)
	}
}

// A sealed secret that is moved to another endpoint's row does not open.
func TestSealedSecretsAreBoundToTheirRow(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	a, b := o.endpoint().ID, o.endpoint().ID
	o.exec(`update postbus.webhook_secrets set sealed = (select sealed from postbus.webhook_secrets where endpoint_id = $1) where endpoint_id = $2`, a, b)
	if _, err := o.loadTarget(t.Context(), b); !errors.Is(err, ErrNoKey) {
		t.Errorf("%v, want ErrNoKey", err)
	}
}
