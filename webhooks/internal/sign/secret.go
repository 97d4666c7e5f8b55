package sign

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/postbus/postbus/webhooks/internal/hidden"
)

const (
	newSecret = 32 // Bytes, as many as the HMAC's sum has.
	minSecret = 24 // Both limits by the specification.
	maxSecret = 64
)

// Secret is shared with the receiver and signs by HMAC-SHA256. It prints as "whsec_…(hidden)".
type Secret struct{ hidden.Value }

// NewSecret makes a Secret of 32 random bytes.
func NewSecret() Secret {
	key := make([]byte, newSecret)
	_, _ = rand.Read(key) // It never fails: it crashes the program instead.
	return secretOf(secretPrefix + base64.StdEncoding.EncodeToString(key))
}

func secretOf(text string) Secret { return Secret{hidden.New(secretPrefix+"…", text)} }

// ParseSecret takes "whsec_" and the standard base64 of 24 to 64 bytes.
func ParseSecret(text string) (Secret, error) {
	if err := refuseForm(text); err != nil {
		return Secret{}, fmt.Errorf("secret %w", err)
	}
	key, err := decode(secretPrefix, text)
	if err != nil {
		return Secret{}, fmt.Errorf("secret %w", err)
	}
	if len(key) < minSecret || len(key) > maxSecret {
		return Secret{}, fmt.Errorf("secret has %d bytes behind %q, wanted are %d to %d: leave it out to have one made",
			len(key), secretPrefix, minSecret, maxSecret)
	}
	return secretOf(text), nil
}

func refuseForm(text string) error {
	switch {
	case text == "":
		return fmt.Errorf("is empty: wanted is %q and the base64 of %d to %d bytes", secretPrefix, minSecret, maxSecret)
	case strings.HasPrefix(text, secretPrefix):
		return nil
	case strings.HasPrefix(text, "v1,"), strings.HasPrefix(text, "v1a,"):
		return fmt.Errorf("starts with the version of a signature: leave out all before %q", secretPrefix)
	case strings.HasPrefix(text, publicPrefix), strings.HasPrefix(text, privatePrefix):
		return fmt.Errorf("is a key of a pair, wanted is one that starts with %q", secretPrefix)
	}
	return fmt.Errorf("does not start with %q: wanted is that and the base64 of %d to %d bytes",
		secretPrefix, minSecret, maxSecret)
}

// Sign gives "v1," and the base64 of the HMAC, or "" from the zero Secret.
func (s Secret) Sign(id string, at time.Time, body []byte) string {
	key, err := decode(secretPrefix, s.Reveal())
	if err != nil || len(key) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(content(id, at, body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
