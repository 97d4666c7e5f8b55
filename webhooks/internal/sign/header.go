package sign

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Header gives the value of webhook-signature: a signature by each of the keys, in their order, apart by a space.
// It is an error to have no key, a zero key, or an id that is empty or holds a "." or anything but visible ASCII.
func Header(keys []Key, id string, at time.Time, body []byte) (string, error) {
	if err := checkID(id); err != nil {
		return "", err
	}
	if len(keys) == 0 {
		return "", errors.New("sign a webhook: there is no key, and none is sent unsigned")
	}
	signatures := make([]string, len(keys))
	for i, key := range keys {
		if signatures[i] = key.Sign(id, at, body); signatures[i] == "" {
			return "", fmt.Errorf("sign a webhook: key %d of %d is a zero value: take keys from ParseKey", i+1, len(keys))
		}
	}
	return strings.Join(signatures, " "), nil
}

// Set sets webhook-id, webhook-timestamp and webhook-signature, all three or, on an error of [Header], none.
func Set(header http.Header, keys []Key, id string, at time.Time, body []byte) error {
	signatures, err := Header(keys, id, at, body)
	if err != nil {
		return err
	}
	header.Set("webhook-id", id)
	header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	header.Set("webhook-signature", signatures)
	return nil
}

func checkID(id string) error {
	if id == "" {
		return errors.New("sign a webhook: its id is empty")
	}
	for _, c := range []byte(id) {
		if c <= ' ' || c > '~' || c == '.' {
			return fmt.Errorf("sign a webhook: id %q: only visible ASCII without \".\" is signed", id)
		}
	}
	return nil
}
