package password

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// hashed is what a PHC string says.
type hashed struct {
	memory, passes uint32
	lanes          uint8
	salt, key      []byte
}

// Bounds of what is checked: a hash from elsewhere must not eat the machine.
const (
	maxMemory = 1 << 20 // KiB
	maxPasses = 100
	minBytes  = 8
	maxBytes  = 128
)

var errUnreadable = errors.New("the stored password is no argon2id hash that can be checked: set the password again")

var base = base64.RawStdEncoding.Strict()

func (h hashed) String() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.passes, h.lanes,
		base.EncodeToString(h.salt), base.EncodeToString(h.key))
}

// parse reads a PHC string as String writes it, and nothing else.
func parse(text string) (hashed, error) {
	var h hashed
	parts := strings.Split(text, "$")
	if len(parts) != 6 {
		return h, errUnreadable
	}
	_, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.passes, &h.lanes)
	if err != nil || h.passes < 1 || h.passes > maxPasses || h.lanes < 1 || h.memory < 8*uint32(h.lanes) || h.memory > maxMemory {
		return h, errUnreadable
	}
	for i, field := range []*[]byte{&h.salt, &h.key} {
		if *field, err = base.DecodeString(parts[4+i]); err != nil || len(*field) < minBytes || len(*field) > maxBytes {
			return h, errUnreadable
		}
	}
	if h.String() != text {
		return h, errUnreadable
	}
	return h, nil
}
