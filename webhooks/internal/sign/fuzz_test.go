package sign_test

import (
	"strings"
	"testing"

	"github.com/postbus/postbus/webhooks/internal/sign"
	"github.com/postbus/postbus/webhooks/verify"
)

// A key that is taken comes back as the text it was, signs, and its receiver can be configured; one that is refused is
// not shown.
func FuzzParseKey(f *testing.F) {
	for _, text := range []string{vectorSecret, vectorPrivate, vectorSeed, vectorPublic, "v1," + vectorSecret, "whsec_"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := sign.ParseKey(text)
		if err != nil {
			if _, body, _ := strings.Cut(text, "_"); len(body) >= 16 && strings.Contains(err.Error(), body) {
				t.Errorf("the error shows the key: %v", err)
			}
			return
		}
		receiver := k.Reveal()
		if private, ok := k.(sign.PrivateKey); ok {
			receiver = private.Public()
		} else if receiver != text {
			t.Errorf("%q comes back as %q", text, receiver)
		}
		if _, err := verify.New(receiver); err != nil {
			t.Errorf("the receiver refuses %q: %v", receiver, err)
		}
		if _, err := sign.Header([]sign.Key{k}, "a", vectorTime, nil); err != nil {
			t.Errorf("%q does not sign: %v", text, err)
		}
	})
}
