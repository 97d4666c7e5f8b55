package webhooks

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// newUUID makes a random one (version 4). Ids are made here and not by the database, because what is sealed is bound to them.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails: it crashes the program instead
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// isUUID accepts the form in which ids are answered; everything else is nobody's id.
func isUUID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i, c := range []byte(id) {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
				return false
			}
		}
	}
	return true
}

func noEndpoint(id string) error { return fmt.Errorf("endpoint %q: %w", id, ErrNotFound) }

// deliveryID reads the id of a delivery, a positive number.
func deliveryID(id string) (int64, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 1 || id[0] == '+' {
		return 0, noDelivery(id)
	}
	return n, nil
}

func noDelivery(id string) error { return fmt.Errorf("delivery %q: %w", id, ErrNotFound) }

// A cursor is opaque to callers; inside it is the kind of list and the last row's key.
func cursorOf(kind, key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + ":" + key))
}

// keyOf answers the key in a cursor, "" on the first page.
func keyOf(kind, cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if key, ok := strings.CutPrefix(string(raw), kind+":"); err == nil && ok && key != "" {
		return key, nil
	}
	return "", badCursor(cursor)
}

// numberOf is keyOf for keys that are numbers, 0 on the first page.
func numberOf(kind, cursor string, bits int) (int64, error) {
	key, err := keyOf(kind, cursor)
	if key == "" {
		return 0, err
	}
	n, err := strconv.ParseInt(key, 10, bits)
	if err != nil || n < 1 {
		return 0, badCursor(cursor)
	}
	return n, nil
}

func badCursor(cursor string) error {
	return fmt.Errorf("%w: cursor %q is not one that a page of this list gave", ErrInvalid, cursor)
}

const (
	defaultPage = 50
	maxPage     = 200
)

func pageSize(limit int) (int, error) {
	if limit == 0 {
		return defaultPage, nil
	}
	if limit < 1 || limit > maxPage {
		return 0, fmt.Errorf("%w: limit %d; use 1 to %d", ErrInvalid, limit, maxPage)
	}
	return limit, nil
}

func nullable[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	in := t.UTC()
	return &in
}
