package sign_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/webhooks/internal/sign"
)

// The vectors are those of the reference server, whose tests both of them are in:
// https://github.com/svix/svix-webhooks/blob/main/server/svix-server/src/worker.rs
const (
	vectorID      = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	vectorBody    = `{"test": 2432232314}`
	vectorSecret  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorV1      = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	vectorPrivate = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
	vectorSeed    = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbc="
	vectorPublic  = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
	vectorV1a     = "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="
)

var vectorTime = time.Unix(1614265330, 999_999_999)

func key(t testing.TB, text string) sign.Key {
	t.Helper()
	k, err := sign.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSignaturesAreThoseOfTheReference(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{vectorSecret: vectorV1, vectorPrivate: vectorV1a, vectorSeed: vectorV1a} {
		if got := key(t, text).Sign(vectorID, vectorTime, []byte(vectorBody)); got != want {
			t.Errorf("%s signs %s, want %s", text[:5], got, want)
		}
	}
	for _, text := range []string{vectorPrivate, vectorSeed} {
		k, err := sign.ParsePrivateKey(text)
		if err != nil || k.Public() != vectorPublic || k.Reveal() != vectorPrivate {
			t.Errorf("public key %s, revealed %s, error %v", k.Public(), k.Reveal(), err)
		}
	}
}

func TestSetSignsWithEveryKeyInOrder(t *testing.T) {
	t.Parallel()
	keys := []sign.Key{key(t, vectorPrivate), key(t, vectorSecret)}
	got := http.Header{}
	if err := sign.Set(got, keys, vectorID, vectorTime, []byte(vectorBody)); err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"Webhook-Id":        {vectorID},
		"Webhook-Timestamp": {"1614265330"},
		"Webhook-Signature": {vectorV1a + " " + vectorV1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

func TestNothingIsSentUnsignedOrAmbiguous(t *testing.T) {
	t.Parallel()
	good := key(t, vectorSecret)
	for name, c := range map[string]struct {
		keys []sign.Key
		id   string
		want string
	}{
		"no key":           {nil, vectorID, "there is no key"},
		"zero secret":      {[]sign.Key{good, sign.Secret{}}, vectorID, "key 2 of 2 is a zero value"},
		"zero private key": {[]sign.Key{sign.PrivateKey{}}, vectorID, "key 1 of 1 is a zero value"},
		"no id":            {[]sign.Key{good}, "", "its id is empty"},
		"dot":              {[]sign.Key{good}, "a.1", `id "a.1": only visible ASCII without "."`},
		"space":            {[]sign.Key{good}, "a 1", "only visible ASCII"},
		"line end":         {[]sign.Key{good}, "a\r\nx: y", "only visible ASCII"},
		"beyond ASCII":     {[]sign.Key{good}, "ä", "only visible ASCII"},
	} {
		header := http.Header{}
		err := sign.Set(header, c.keys, c.id, vectorTime, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || len(header) > 0 {
			t.Errorf("%s: got %v and %v, want %s", name, header, err, c.want)
		}
	}
	if got := (sign.PrivateKey{}).Public(); got != "" {
		t.Errorf("the zero PrivateKey has the public key %q", got)
	}
}

func TestNewKeysAreTakenBackAndNeverTheSame(t *testing.T) {
	t.Parallel()
	private, public := sign.NewKeyPair()
	other, _ := sign.NewKeyPair()
	secret := sign.NewSecret()
	if public != private.Public() || public == other.Public() || secret.Reveal() == sign.NewSecret().Reveal() {
		t.Error("two new keys are the same, or a public key is not its own")
	}
	for _, k := range []sign.Key{private, secret} {
		if got := key(t, k.Reveal()); got.Reveal() != k.Reveal() {
			t.Errorf("%s comes back as %s", k.Reveal(), got.Reveal())
		}
	}
	if n := len(strings.TrimPrefix(secret.Reveal(), "whsec_")); n != base64.StdEncoding.EncodedLen(32) {
		t.Errorf("a new secret has %d characters of base64", n)
	}
}

func TestParseKeyRefusesWhatNoReceiverCouldShare(t *testing.T) {
	t.Parallel()
	encode := func(size int) string { return base64.StdEncoding.EncodeToString([]byte(strings.Repeat("Z", size))) }
	for text, want := range map[string]string{
		"":                      `secret is empty`,
		encode(24):              `secret does not start with "whsec_"`,
		"v1," + vectorSecret:    `leave out all before "whsec_"`,
		vectorPublic:            `wanted is one that starts with "whsec_"`,
		"whsec_":                `has 0 bytes behind "whsec_", wanted are 24 to 64`,
		"whsec_" + encode(23):   `has 23 bytes behind "whsec_", wanted are 24 to 64`,
		"whsec_" + encode(65):   `has 65 bytes behind "whsec_", wanted are 24 to 64`,
		vectorSecret + "\n":     `not standard base64 with padding`,
		vectorSecret + "=":      `not standard base64 with padding`,
		vectorSecret[:35] + "_": `not standard base64 with padding`,
		"whsec_" + strings.TrimRight(encode(32), "="): `not standard base64 with padding`,
		"whsec_" + strings.Repeat("A", 32):            `is all zeros`,
		"whsk_" + encode(31):                          `has 31 bytes behind "whsk_", wanted are 64 or 32`,
		"whsk_" + encode(64):                          `public key that is not its own`,
		"whsk_\n" + encode(32):                        `not standard base64 with padding`,
		"whsk_" + strings.Repeat("A", 43) + "=":       `is all zeros`,
	} {
		k, err := sign.ParseKey(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseKey(%q): got %v, want %s", text, err, want)
		}
		if said := fmt.Sprint(err); strings.Contains(said, "Wlpa") || strings.Contains(said, "MfKQ") {
			t.Errorf("the error holds a part of the key: %s", said)
		}
		if k != nil && k.Reveal() != "" {
			t.Errorf("ParseKey(%q) gave a key with its error", text)
		}
	}
	if _, err := sign.ParsePrivateKey(vectorSecret); err == nil || !strings.Contains(err.Error(), `does not start with "whsk_"`) {
		t.Errorf("a secret in place of a private key: %v", err)
	}
}
