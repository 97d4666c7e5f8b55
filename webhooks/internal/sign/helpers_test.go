package sign_test

import (
	"encoding/base64"

	"pgregory.net/rapid"

	"github.com/postbus/postbus/webhooks/internal/sign"
)

func encode(key []byte) string { return base64.StdEncoding.EncodeToString(key) }

func noError(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func parse(t *rapid.T, text string) sign.Key {
	t.Helper()
	k, err := sign.ParseKey(text)
	noError(t, err)
	return k
}
