package mail

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// isUUID accepts the form in which ids are answered; everything else is nobody's id.
func isUUID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i, c := range []byte(id) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
		} else if !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
			return false
		}
	}
	return true
}

func noRule(id string) error { return fmt.Errorf("rule %q: %w", id, ErrNotFound) }

func noMail(id string) error { return fmt.Errorf("mail %q: %w", id, ErrNotFound) }

// mailID reads the id of a mail, a positive number.
func mailID(id string) (int64, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 1 || id[0] == '+' {
		return 0, noMail(id)
	}
	return n, nil
}

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

// orElse puts in what is given.
func orElse[T any](is, given *T) {
	if given != nil {
		*is = *given
	}
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	in := t.UTC()
	return &in
}
