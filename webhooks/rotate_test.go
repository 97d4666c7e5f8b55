package webhooks

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/postbus/postbus/webhooks/internal/sign"
)

func (o *office) rotate(id string, spec RotateSpec) Rotated {
	o.t.Helper()
	rotated, err := o.RotateSecret(o.t.Context(), id, spec)
	if err != nil {
		o.t.Fatal(err)
	}
	return rotated
}

// reveal answers the secrets that sign at the time.
func (o *office) reveal(id string, at time.Time) []string {
	o.t.Helper()
	target, err := o.loadTarget(o.t.Context(), id)
	if err != nil {
		o.t.Fatal(err)
	}
	var texts []string
	for _, key := range target.keysAt(at) {
		texts = append(texts, key.Reveal())
	}
	return texts
}

// The previous secret stays valid for the overlap and signs beside the new one, which comes first; after it only the new one.
func TestRotationOverlap(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	created := o.endpoint()
	rotated := o.rotate(created.ID, RotateSpec{Overlap: ptr(time.Hour)})
	now := time.Now()
	equal(t, o.reveal(created.ID, now), rotated.Secret, created.Secret)
	equal(t, o.reveal(created.ID, now.Add(59*time.Minute)), rotated.Secret, created.Secret)
	equal(t, o.reveal(created.ID, now.Add(61*time.Minute)), rotated.Secret)
	if d := rotated.PreviousEndAt.Sub(now); d < 59*time.Minute || d > 61*time.Minute {
		t.Errorf("the previous one ends in %s, want 1h", d)
	}
	last := o.rotate(created.ID, RotateSpec{Overlap: ptr(2 * time.Hour)})
	equal(t, o.reveal(created.ID, now.Add(61*time.Minute)), last.Secret, rotated.Secret) // the first one ends when it would have
	only := o.rotate(created.ID, RotateSpec{Overlap: ptr(time.Duration(0))})
	equal(t, o.reveal(created.ID, now), only.Secret)
	if n := o.count(`select count(*) from postbus.webhook_secrets`); n != 1 {
		t.Errorf("%d secrets are stored, want 1: what has ended goes", n)
	}
}

func equal(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d secrets are valid, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("secret %d of %d is another one", i+1, len(got))
		}
	}
}

func TestRotationDefaultsToTheConfiguredOverlap(t *testing.T) {
	t.Parallel()
	for given, want := range map[time.Duration]time.Duration{0: 24 * time.Hour, -1: 0, time.Hour: time.Hour} {
		o := newOffice(t, func(c *Config) { c.Overlap = given })
		id := o.endpoint().ID
		d := time.Until(o.rotate(id, RotateSpec{}).PreviousEndAt)
		if diff := d - want; diff < -time.Minute || diff > time.Minute {
			t.Errorf("overlap %s: the previous one ends in %s, want %s", given, d, want)
		}
	}
}

func TestRotationOfTheKeyPair(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	created := o.endpoint(func(s *EndpointSpec) { s.Asymmetric = true })
	rotated := o.rotate(created.ID, RotateSpec{Asymmetric: true})
	if rotated.Secret != "" || !strings.HasPrefix(rotated.PublicKey, "whpk_") || rotated.PublicKey == created.PublicKey {
		t.Errorf("rotated to %q, secret given: %v", rotated.PublicKey, rotated.Secret != "")
	}
	keys, err := o.PublicKeys(t.Context(), created.ID)
	if err != nil || len(keys) != 2 || keys[0].Key != rotated.PublicKey || keys[0].ExpiresAt != nil || keys[1].Key != created.PublicKey || keys[1].ExpiresAt == nil {
		t.Errorf("%v, %v", keys, err)
	}
	secrets := o.reveal(created.ID, time.Now())
	if len(secrets) != 3 {
		t.Fatalf("%d keys sign, want 3", len(secrets))
	}
	if private, err := sign.ParsePrivateKey(secrets[0]); err != nil || private.Public() != rotated.PublicKey {
		t.Errorf("the newest key is not the one that was answered: %v", err)
	}
}

func TestRotationRefusals(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.endpoint().ID
	for says, spec := range map[string]RotateSpec{
		"overlap is":         {Overlap: ptr(8 * 24 * time.Hour)},
		"overlap is -1ns":    {Overlap: ptr(time.Duration(-1))},
		"secret is a key of": {Secret: "whpk_AAAA"},
		"exclude each other": {Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", Asymmetric: true},
	} {
		if _, err := o.RotateSecret(t.Context(), id, spec); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want ErrInvalid that says %q", err, says)
		}
	}
	for range maxLiveSecrets - 1 {
		o.rotate(id, RotateSpec{})
	}
	_, err := o.RotateSecret(t.Context(), id, RotateSpec{})
	if !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "5 secrets are still valid, the limit is 5: wait 24h0m0s") {
		t.Errorf("a sixth: %v", err)
	}
	o.rotate(id, RotateSpec{Overlap: ptr(time.Duration(0))}) // the way out
	if _, err := o.RotateSecret(t.Context(), newUUID(), RotateSpec{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v, want ErrNotFound", err)
	}
}

// Rotations at the same time: each is one of the valid ones, and the limit holds.
func TestRotationsInParallel(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.endpoint().ID
	inParallel(10, func() {
		if _, err := o.RotateSecret(t.Context(), id, RotateSpec{}); err != nil && !errors.Is(err, ErrConflict) {
			t.Error(err)
		}
	})
	if n := o.count(`select count(*) from postbus.webhook_secrets where expires_at is null`); n != 1 {
		t.Errorf("%d secrets are current, want 1", n)
	}
	if n := o.count(`select count(*) from postbus.webhook_secrets`); n != maxLiveSecrets {
		t.Errorf("%d secrets, want %d", n, maxLiveSecrets)
	}
}
