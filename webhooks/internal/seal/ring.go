package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const maxKeys = 16

var (
	// ErrNoKey says that nothing can be sealed or opened, because no key is configured.
	ErrNoKey = errors.New("no sealing key is configured, and secrets are not stored open: " + howToMake)
	// ErrUnknownKey says that a secret was sealed with a key that is not configured here.
	ErrUnknownKey = errors.New("sealing key is not configured")
	// ErrWrongKey says that the configured key of that id does not open the secret.
	ErrWrongKey = errors.New("sealing key does not open the secret")
)

// Ring seals with its first key and opens with any. It never changes and may be used by many goroutines at once.
// A nil Ring is one without keys.
type Ring struct {
	current string
	boxes   map[string]*box
}

// A box is held by pointer, so that printing a Ring does not follow it.
type box struct{ cipher.AEAD }

// NewRing makes a Ring of at most 16 keys, the current one first. Without keys it answers [ErrNoKey] to everything.
func NewRing(keys ...Key) (*Ring, error) {
	if len(keys) > maxKeys {
		return nil, fmt.Errorf("%d sealing keys, at most %d are taken: leave out those that no stored secret names",
			len(keys), maxKeys)
	}
	r := &Ring{boxes: make(map[string]*box, len(keys))}
	for i, key := range keys {
		if !validID(key.id) {
			return nil, fmt.Errorf("sealing key %d of %d is a zero value: take keys from ParseKey", i+1, len(keys))
		}
		if r.boxes[key.id] != nil {
			return nil, fmt.Errorf("sealing key %q is configured twice: give each key an id of its own", key.id)
		}
		b, err := newBox(key)
		if err != nil {
			return nil, fmt.Errorf("sealing key %q %w", key.id, err)
		}
		r.boxes[key.id] = b
	}
	if len(keys) > 0 {
		r.current = keys[0].id
	}
	return r, nil
}

func newBox(key Key) (*box, error) {
	data, err := key.bytes()
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(data)
	if err != nil {
		return nil, fmt.Errorf("makes no cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("makes no cipher: %w", err)
	}
	return &box{aead}, nil
}

// Current is the id of the key that seals, "" without keys. What another one sealed is worth sealing again.
func (r *Ring) Current() string {
	if r == nil {
		return ""
	}
	return r.current
}

// Seal encrypts plain with the current key and binds it to context, which must not be empty: it names the one place where
// the secret is stored, and [Ring.Open] wants the same. Store the key's id with what is sealed.
func (r *Ring) Seal(plain []byte, context string) (keyID string, sealed []byte, err error) {
	if r.Current() == "" {
		return "", nil, ErrNoKey
	}
	if context == "" {
		return "", nil, errors.New("seal a secret: the context is empty: name the place where the secret is stored")
	}
	return r.current, r.boxes[r.current].Seal(nil, nil, plain, []byte(context)), nil
}

// Open decrypts what [Ring.Seal] gave. Errors are [ErrNoKey], [ErrUnknownKey] and [ErrWrongKey].
func (r *Ring) Open(keyID string, sealed []byte, context string) ([]byte, error) {
	if r.Current() == "" {
		return nil, ErrNoKey
	}
	b := r.boxes[keyID]
	if b == nil {
		return nil, fmt.Errorf("%w: %q sealed a stored secret, configured are %s: add the key as \"%s:…\" behind the current one",
			ErrUnknownKey, keyID, r.ids(), keyID)
	}
	plain, err := b.Open(nil, nil, sealed, []byte(context))
	if err != nil {
		return nil, fmt.Errorf("%w: %q is configured with other bytes than those that sealed it, or the stored secret was "+
			"changed or moved: configure the key %q as it was", ErrWrongKey, keyID, keyID)
	}
	return plain, nil
}

func (r *Ring) ids() string {
	return `"` + strings.Join(slices.Sorted(maps.Keys(r.boxes)), `", "`) + `"`
}
