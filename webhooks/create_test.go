package webhooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/pg"
)

func TestCreateAnswersWhatWasAsked(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	created := o.endpoint(func(s *EndpointSpec) {
		s.Description, s.Types, s.RatePerSecond, s.Ordered = "d", []string{"note.*"}, 5, true
		s.Scope = Scope{Data: map[string][]any{"k": {1}}}
		s.Headers = map[string]string{"X-Team": "a", "authorization": "Bearer hunter2"}
	})
	want := Endpoint{
		OwnerID: owner, URL: "https://example.com/hook", Description: "d", Types: []string{"note.*"},
		Scope: scopeFrom(t, `{"data":{"k":[1]}}`), HeaderNames: []string{"X-Team", "authorization"},
		MaxInFlight: 1, RatePerSecond: 5, Ordered: true, Enabled: true,
	}
	unknown := cmpopts.IgnoreFields(Endpoint{}, "ID", "CreatedAt", "UpdatedAt")
	if diff := cmp.Diff(want, created.Endpoint, unknown); diff != "" {
		t.Error(diff)
	}
	got, err := o.Get(t.Context(), created.ID)
	if diff := cmp.Diff(created.Endpoint, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if !strings.HasPrefix(created.Secret, "whsec_") || created.PublicKey != "" {
		t.Errorf("secret of %d bytes, public key %q", len(created.Secret), created.PublicKey)
	}
}

func TestCreateRefusals(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	header := func(name, value string) func(*EndpointSpec) {
		return func(s *EndpointSpec) { s.Headers = map[string]string{name: value} }
	}
	for says, change := range map[string]func(*EndpointSpec){
		"owner_id":               func(s *EndpointSpec) { s.OwnerID = "" },
		"owner_id has 1025":      func(s *EndpointSpec) { s.OwnerID = strings.Repeat("x", 1025) },
		"url: blocked":           func(s *EndpointSpec) { s.URL = "http://127.0.0.1/" },
		"url is no UTF-8":        func(s *EndpointSpec) { s.URL = "https://example.com/\xff" },
		"description has 1025":   func(s *EndpointSpec) { s.Description = strings.Repeat("x", 1025) },
		"types has 0":            func(s *EndpointSpec) { s.Types = nil },
		"types[1]":               func(s *EndpointSpec) { s.Types = []string{"a", "B"} },
		"is internal: it never":  func(s *EndpointSpec) { s.Types = []string{exposedType, internalType} },
		"max_in_flight is 33":    func(s *EndpointSpec) { s.MaxInFlight = 33 },
		"max_in_flight is -1":    func(s *EndpointSpec) { s.MaxInFlight = -1 },
		"rate_per_second":        func(s *EndpointSpec) { s.RatePerSecond = 1001 },
		"scope.data":             func(s *EndpointSpec) { s.Scope.Data = map[string][]any{"k": nil} },
		"leave out all before":   func(s *EndpointSpec) { s.Secret = "v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" },
		"secret has 3 bytes":     func(s *EndpointSpec) { s.Secret = "whsec_AQID" },
		`"Webhook-Id" cannot`:    header("Webhook-Id", "x"),
		`"HOST" cannot`:          header("HOST", "x"),
		`"content-type" cannot`:  header("content-type", "x"),
		"webhook-id is the key":  header("Idempotency-Key", "x"),
		"framed":                 header("transfer-encoding", "x"),
		`name "a b"`:             header("a b", "x"),
		`name ""`:                header("", "x"),
		"has 2049 bytes":         header("x", strings.Repeat("y", 2049)),
		"control character at":   header("x", "a\r\nb: c"),
		"begins or ends":         header("x", " a"),
		"twice":                  func(s *EndpointSpec) { s.Headers = map[string]string{"a": "1", "A": "2"} },
		"headers has 21 entries": func(s *EndpointSpec) { s.Headers = manyHeaders(21) },
	} {
		_, err := o.Create(t.Context(), spec(change))
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want ErrInvalid that says %q", err, says)
		}
	}
	if n := o.count(`select count(*) from postbus.webhook_endpoints`); n != 0 {
		t.Errorf("%d endpoints were made", n)
	}
}

func manyHeaders(n int) map[string]string {
	h := map[string]string{}
	for i := range n {
		h[fmt.Sprintf("x-%d", i)] = "v"
	}
	return h
}

func TestCreateWithoutAKey(t *testing.T) {
	t.Parallel()
	o := newOffice(t, func(c *Config) { c.Keys = nil })
	_, err := o.Create(t.Context(), spec())
	if !errors.Is(err, ErrNoKey) || !strings.Contains(err.Error(), "Config.Keys") {
		t.Errorf("%v, want ErrNoKey that names Config.Keys", err)
	}
}

func TestCreateTakesASecretAlong(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	o := newOffice(t, nil)
	created := o.endpoint(func(s *EndpointSpec) { s.Secret, s.Asymmetric = secret, true })
	if created.Secret != secret || !strings.HasPrefix(created.PublicKey, "whpk_") {
		t.Errorf("another secret, or public key %q", created.PublicKey)
	}
	keys, err := o.PublicKeys(t.Context(), created.ID)
	if err != nil || len(keys) != 1 || keys[0].Key != created.PublicKey || keys[0].ExpiresAt != nil {
		t.Errorf("public keys %v, %v", keys, err)
	}
}

// An owner has at most 1,000 endpoints, however many are made at once.
func TestTheOwnersLimitHoldsUnderConcurrency(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.exec(`insert into postbus.webhook_endpoints (owner_id, url, types) select $1, 'https://example.com', '{*}' from generate_series(1, 995)`, owner)
	var made atomic.Int32
	var refused atomic.Value
	inParallel(20, func() {
		switch _, err := o.Create(t.Context(), spec()); {
		case err == nil:
			made.Add(1)
		default:
			refused.Store(err)
		}
	})
	err, _ := refused.Load().(error)
	if made.Load() != 5 || !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "the limit is 1000") {
		t.Errorf("%d made beside 995, want 5; refused: %v", made.Load(), err)
	}
}

// An act through With commits with the caller's transaction, or not at all.
func TestWithATransaction(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	undo := errors.New("undo")
	err := pg.InTx(t.Context(), o.pool, func(ctx context.Context, tx pgx.Tx) error {
		created, err := o.With(tx).Create(ctx, spec())
		if err != nil {
			return err
		}
		if _, err := o.With(tx).Get(ctx, created.ID); err != nil {
			return err
		}
		return undo
	})
	if !errors.Is(err, undo) || o.count(`select count(*) from postbus.webhook_endpoints`) != 0 || o.count(`select count(*) from postbus.webhook_secrets`) != 0 {
		t.Errorf("%v; the endpoint outlived its transaction", err)
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	var want []string
	for range 5 {
		want = append(want, o.endpoint().ID)
	}
	o.endpoint(func(s *EndpointSpec) { s.OwnerID = "other" })
	off := o.endpoint()
	if _, err := o.Update(t.Context(), off.ID, EndpointPatch{Enabled: ptr(false)}); err != nil {
		t.Fatal(err)
	}
	o.exec(`update postbus.webhook_endpoints set failing_since = now() where id = $1`, want[2])
	slices.Sort(want[:])
	var got []string
	f := EndpointFilter{OwnerID: owner, Enabled: ptr(true), Limit: 2}
	for pages := 0; pages == 0 || f.Cursor != ""; pages++ {
		page, err := o.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Endpoints {
			got = append(got, e.ID)
		}
		f.Cursor = page.Next
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	failing, err := o.List(t.Context(), EndpointFilter{Failing: ptr(true)})
	if err != nil || len(failing.Endpoints) != 1 || failing.Endpoints[0].FailingSince == nil {
		t.Errorf("failing: %v, %v", failing, err)
	}
	for _, f := range []EndpointFilter{{Limit: 201}, {Limit: -1}, {Cursor: "x"}, {Cursor: cursorOf("endpoint", "x")}, {Cursor: cursorOf("delivery", want[0])}} {
		if _, err := o.List(t.Context(), f); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", f, err)
		}
	}
	for _, id := range []string{"", "x", newUUID()} {
		if _, err := o.Get(t.Context(), id); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v, want ErrNotFound", id, err)
		}
	}
}
