package seal

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/postbus/postbus/webhooks/internal/hidden"
)

const (
	keySize = 32 // AES-256.
	maxID   = 32

	howToMake = `configure "k1:" and what "openssl rand -base64 32" prints, with an id of your own in place of k1`
)

// Key seals and opens. Its id is stored with what it sealed and is no secret. It prints as "k1:…(hidden)".
type Key struct {
	hidden.Value
	id string
}

// NewKey makes a Key of 32 random bytes. An id is 1 to 32 of the ASCII letters, digits, "-" and "_".
func NewKey(id string) (Key, error) {
	if !validID(id) {
		return Key{}, fmt.Errorf("sealing key: an id is 1 to %d letters, digits, \"-\" and \"_\"", maxID)
	}
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // It never fails: it crashes the program instead.
	return keyOf(id, base64.StdEncoding.EncodeToString(key)), nil
}

func keyOf(id, encoded string) Key {
	return Key{Value: hidden.New(id+":…", id+":"+encoded), id: id}
}

// ParseKey takes the configured form, an id, ":" and the standard base64 of 32 bytes. Reveal gives it back.
func ParseKey(text string) (Key, error) {
	// What stands before the colon is shown only once it is known to be an id: the wrong text may be pasted here.
	id, encoded, ok := strings.Cut(text, ":")
	switch {
	case text == "":
		return Key{}, errors.New("sealing key is empty: " + howToMake)
	case !ok:
		return Key{}, errors.New(`sealing key has no id and ":" in front: ` + howToMake)
	case !validID(id):
		return Key{}, fmt.Errorf("sealing key: what is before the \":\" is no id, which is 1 to %d letters, digits, \"-\" and "+
			"\"_\": %s", maxID, howToMake)
	}
	if _, err := decode(encoded); err != nil {
		return Key{}, fmt.Errorf("sealing key %q %w: %s", id, err, howToMake)
	}
	return keyOf(id, encoded), nil
}

// ID names the key, "" for the zero Key.
func (k Key) ID() string { return k.id }

func (k Key) bytes() ([]byte, error) { return decode(strings.TrimPrefix(k.Reveal(), k.id+":")) }

func decode(encoded string) ([]byte, error) {
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	switch {
	case err != nil || strings.ContainsAny(encoded, "\r\n"): // The library skips line ends.
		return nil, errors.New(`is not standard base64 with padding behind the ":"`)
	case len(key) != keySize:
		return nil, fmt.Errorf("has %d bytes, wanted are %d", len(key), keySize)
	case [keySize]byte(key) == [keySize]byte{}:
		return nil, errors.New("is all zeros, as in an example")
	}
	return key, nil
}

func validID(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	for _, c := range []byte(id) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
