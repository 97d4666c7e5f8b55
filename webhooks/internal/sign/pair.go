package sign

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/postbus/postbus/webhooks/internal/hidden"
)

// PrivateKey stays with the sender and signs by Ed25519. It prints as "whsk_…(hidden)".
type PrivateKey struct{ hidden.Value }

// NewKeyPair makes a PrivateKey and gives the public key, "whpk_…", that its receivers check with.
func NewKeyPair() (private PrivateKey, public string) {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // It never fails: it crashes the program instead.
	private = privateOf(ed25519.NewKeyFromSeed(seed))
	return private, private.Public()
}

func privateOf(key ed25519.PrivateKey) PrivateKey {
	return PrivateKey{hidden.New(privatePrefix+"…", privatePrefix+base64.StdEncoding.EncodeToString(key))}
}

// ParsePrivateKey takes "whsk_" and the standard base64 of 64 bytes, seed and public key, or of the seed's 32 alone.
func ParsePrivateKey(text string) (PrivateKey, error) {
	if !strings.HasPrefix(text, privatePrefix) {
		return PrivateKey{}, fmt.Errorf("private key does not start with %q: wanted is that and the base64 of %d or %d bytes",
			privatePrefix, ed25519.PrivateKeySize, ed25519.SeedSize)
	}
	data, err := decode(privatePrefix, text)
	if err != nil {
		return PrivateKey{}, fmt.Errorf("private key %w", err)
	}
	if len(data) != ed25519.PrivateKeySize && len(data) != ed25519.SeedSize {
		return PrivateKey{}, fmt.Errorf("private key has %d bytes behind %q, wanted are %d or %d: leave it out to have one made",
			len(data), privatePrefix, ed25519.PrivateKeySize, ed25519.SeedSize)
	}
	key := ed25519.NewKeyFromSeed(data[:ed25519.SeedSize])
	if len(data) == ed25519.PrivateKeySize && !bytes.Equal(key, data) {
		return PrivateKey{}, errors.New("private key holds a public key that is not its own: send it as it was made")
	}
	return privateOf(key), nil
}

// Public gives the public key, "whpk_…", or "" from the zero PrivateKey. It is no secret.
func (k PrivateKey) Public() string {
	key := k.key()
	if key == nil {
		return ""
	}
	return publicPrefix + base64.StdEncoding.EncodeToString(key[ed25519.SeedSize:])
}

// Sign gives "v1a," and the base64 of the signature, or "" from the zero PrivateKey.
func (k PrivateKey) Sign(id string, at time.Time, body []byte) string {
	key := k.key()
	if key == nil {
		return ""
	}
	return "v1a," + base64.StdEncoding.EncodeToString(ed25519.Sign(key, content(id, at, body)))
}

func (k PrivateKey) key() ed25519.PrivateKey {
	data, err := decode(privatePrefix, k.Reveal())
	if err != nil || len(data) != ed25519.PrivateKeySize {
		return nil
	}
	return data
}
