package password

import (
	"crypto/rand"
	"crypto/subtle"

	"golang.org/x/crypto/argon2"
)

const (
	memory = 19 * 1024 // KiB
	passes = 2
	lanes  = 1

	saltSize = 16
	keySize  = 32
)

// Hash makes the PHC string of a password with a fresh salt.
func Hash(password string) string {
	h := current()
	h.key = h.derive(password)
	return h.String()
}

// Decoy is the hash of no password: for callers who name an account that is not there, so that they wait as long as others.
func Decoy() string {
	h := current()
	h.key = random(keySize)
	return h.String()
}

// Verify says whether the hash is the password's. Its error says that the hash cannot be read.
func Verify(hash, password string) (bool, error) {
	h, err := parse(hash)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(h.derive(password), h.key) == 1, nil
}

// Outdated says whether the hash was made with other parameters than Hash uses now.
func Outdated(hash string) bool {
	h, err := parse(hash)
	return err != nil || h.memory != memory || h.passes != passes || h.lanes != lanes || len(h.salt) != saltSize || len(h.key) != keySize
}

func current() hashed {
	return hashed{memory: memory, passes: passes, lanes: lanes, salt: random(saltSize)}
}

func (h hashed) derive(password string) []byte {
	size := uint32(keySize)
	if len(h.key) > 0 {
		size = uint32(len(h.key))
	}
	return argon2.IDKey([]byte(password), h.salt, h.passes, h.memory, h.lanes, size)
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails: it crashes the program instead
	return b
}
