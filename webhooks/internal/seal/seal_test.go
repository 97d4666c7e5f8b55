package seal_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/postbus/postbus/webhooks/internal/seal"
)

const (
	plain   = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	context = "endpoint 1, secret 2"
)

func newKey(t testing.TB, id string) seal.Key {
	t.Helper()
	k, err := seal.NewKey(id)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newRing(t testing.TB, keys ...seal.Key) *seal.Ring {
	t.Helper()
	r, err := seal.NewRing(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sealed(t testing.TB, r *seal.Ring) (string, []byte) {
	t.Helper()
	id, data, err := r.Seal([]byte(plain), context)
	if err != nil {
		t.Fatal(err)
	}
	return id, data
}

// The first key of a ring seals, all of them open: a key is changed by putting a new one first.
func TestAKeyIsChangedByPuttingANewOneFirst(t *testing.T) {
	t.Parallel()
	k1, k2 := newKey(t, "k1"), newKey(t, "k2")
	id, old := sealed(t, newRing(t, k1))
	both := newRing(t, k2, k1)
	if got, err := both.Open(id, old, context); err != nil || string(got) != plain || id != "k1" {
		t.Errorf("sealed with %s: opened %q, %v", id, got, err)
	}
	id, fresh := sealed(t, both)
	if id != "k2" || both.Current() != "k2" {
		t.Errorf("sealed with %s, current is %s", id, both.Current())
	}
	if got, err := newRing(t, k2).Open(id, fresh, context); err != nil || string(got) != plain {
		t.Errorf("opened %q, %v", got, err)
	}
}

// A sealed secret that is moved to another row, changed or cut does not open.
func TestOnlyWhatWasSealedForThePlaceOpens(t *testing.T) {
	t.Parallel()
	r := newRing(t, newKey(t, "k1"))
	id, data := sealed(t, r)
	for _, other := range []string{"", "endpoint 1, secret 3", context + " ", context[1:]} {
		if got, err := r.Open(id, data, other); !errors.Is(err, seal.ErrWrongKey) || got != nil {
			t.Errorf("moved to %q: opened %q, %v", other, got, err)
		}
	}
	for i := range data {
		broken := bytes.Clone(data)
		broken[i] ^= 1
		if _, err := r.Open(id, broken, context); !errors.Is(err, seal.ErrWrongKey) {
			t.Errorf("byte %d changed: %v", i, err)
		}
		if _, err := r.Open(id, data[:i], context); !errors.Is(err, seal.ErrWrongKey) {
			t.Errorf("cut to %d bytes: %v", i, err)
		}
	}
}

func TestWhatIsSealedShowsOnlyItsLength(t *testing.T) {
	t.Parallel()
	r := newRing(t, newKey(t, "k1"))
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SliceOfN(rapid.Byte(), 8, 100).Draw(t, "secret")
		where := rapid.StringN(1, 40, -1).Draw(t, "context")
		id, one, err := r.Seal(secret, where)
		if err != nil {
			t.Fatal(err)
		}
		_, two, err := r.Seal(secret, where)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(one[:12], two[:12]) || bytes.Equal(one[12:], two[12:]) {
			t.Fatal("sealed twice with one nonce")
		}
		if bytes.Contains(one, secret) || len(one) != len(secret)+28 {
			t.Fatalf("%x is sealed as %x", secret, one)
		}
		if got, err := r.Open(id, one, where); err != nil || !bytes.Equal(got, secret) {
			t.Fatalf("opened %x, %v", got, err)
		}
	})
}

// A Ring without a key answers everything with ErrNoKey: secrets are never stored open.
func TestWithoutAKeyNothingIsSealed(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*seal.Ring{"nil": nil, "empty": newRing(t)} {
		id, data, err := r.Seal([]byte(plain), context)
		if !errors.Is(err, seal.ErrNoKey) || id != "" || data != nil {
			t.Errorf("%s: sealed with %q: %q, %v", name, id, data, err)
		}
		if got, err := r.Open("k1", make([]byte, 40), context); !errors.Is(err, seal.ErrNoKey) || got != nil {
			t.Errorf("%s: opened %q, %v", name, got, err)
		}
		if r.Current() != "" {
			t.Errorf("%s: current is %q", name, r.Current())
		}
	}
}

func TestErrorsNameTheKeyAndTheWayOut(t *testing.T) {
	t.Parallel()
	id, data := sealed(t, newRing(t, newKey(t, "k1")))
	_, err := newRing(t, newKey(t, "k3"), newKey(t, "k2")).Open(id, data, context)
	want := `sealing key is not configured: "k1" sealed a stored secret, configured are "k2", "k3": ` +
		`add the key as "k1:…" behind the current one`
	if !errors.Is(err, seal.ErrUnknownKey) || fmt.Sprint(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = newRing(t, newKey(t, "k1")).Open(id, data, context)
	if !errors.Is(err, seal.ErrWrongKey) || !strings.Contains(fmt.Sprint(err), `configure the key "k1" as it was`) {
		t.Errorf("got %v", err)
	}
	if _, _, err := newRing(t, newKey(t, "k1")).Seal([]byte(plain), ""); err == nil {
		t.Error("sealed for no place")
	}
	if !strings.Contains(seal.ErrNoKey.Error(), "openssl rand -base64 32") {
		t.Errorf("ErrNoKey does not say how a key is made: %v", seal.ErrNoKey)
	}
}

func TestNewRingRefusesWhatCannotBeMeant(t *testing.T) {
	t.Parallel()
	var many []seal.Key
	for i := range 17 {
		many = append(many, newKey(t, fmt.Sprint("k", i)))
	}
	newRing(t, many[:16]...)
	for want, keys := range map[string][]seal.Key{
		"17 sealing keys, at most 16 are taken": many,
		`sealing key "k1" is configured twice`:  {many[1], many[2], newKey(t, "k1")},
		"sealing key 2 of 2 is a zero value":    {many[1], {}},
	} {
		if r, err := seal.NewRing(keys...); err == nil || r != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
