package verify

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

const (
	secretPrefix = "whsec_"
	publicPrefix = "whpk_"
	minSecret    = 24 // Bytes, both limits by the specification.
	maxSecret    = 64

	wantedSecret = `configure the endpoint's secret ("whsec_…") or public key ("whpk_…")`
)

// keys are held behind a pointer by the Verifier, so that printing one does not show them.
type keys struct {
	secrets [][]byte
	publics []ed25519.PublicKey
}

// add's errors go on from "secret 1 of 2" and never hold a part of the secret.
func (k *keys) add(text string) error {
	switch {
	case text == "":
		return errors.New("is empty: " + wantedSecret)
	case strings.HasPrefix(text, "v1,"), strings.HasPrefix(text, "v1a,"):
		return errors.New(`starts with the version of a signature: leave out all before "whsec_" or "whpk_"`)
	case strings.HasPrefix(text, "whsk_"):
		return errors.New(`is a private key, which belongs to the sender alone: configure its public key ("whpk_…")`)
	case strings.HasPrefix(text, secretPrefix):
		key, err := decode(secretPrefix, text, minSecret, maxSecret)
		k.secrets = append(k.secrets, key)
		return err
	case strings.HasPrefix(text, publicPrefix):
		key, err := decode(publicPrefix, text, ed25519.PublicKeySize, ed25519.PublicKeySize)
		k.publics = append(k.publics, key)
		return err
	}
	return errors.New(`starts neither with "whsec_" nor with "whpk_": ` + wantedSecret)
}

func decode(prefix, text string, shortest, longest int) ([]byte, error) {
	key, ok := decodeBase64(strings.TrimPrefix(text, prefix))
	switch {
	case !ok:
		return nil, fmt.Errorf("is not standard base64 with padding behind %q: copy it whole, without quotes or white space",
			prefix)
	case len(key) < shortest || len(key) > longest:
		return nil, fmt.Errorf("has %d bytes behind %q, wanted are %s: copy it whole, or ask the sender for a new one",
			len(key), prefix, between(shortest, longest))
	case strings.Trim(string(key), "\x00") == "":
		return nil, errors.New("is all zeros, as in an example: " + wantedSecret)
	}
	return key, nil
}

func between(shortest, longest int) string {
	if shortest == longest {
		return fmt.Sprint(shortest)
	}
	return fmt.Sprintf("%d to %d", shortest, longest)
}

// decodeBase64 takes one spelling only; the library alone would skip line ends.
func decodeBase64(text string) ([]byte, bool) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, false
	}
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	return data, err == nil
}

func (k *keys) fit(content []byte, signatures []string) bool {
	for _, secret := range k.secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write(content)
		want := mac.Sum(nil)
		for _, signature := range signatures {
			if got, ok := cut(signature, "v1,"); ok && hmac.Equal(got, want) {
				return true
			}
		}
	}
	for _, public := range k.publics {
		for _, signature := range signatures {
			if got, ok := cut(signature, "v1a,"); ok && ed25519.Verify(public, content, got) {
				return true
			}
		}
	}
	return false
}

// cut gives the bytes of a signature of one version. ed25519.Verify answers false to any other length than its own.
func cut(signature, version string) ([]byte, bool) {
	text, ok := strings.CutPrefix(signature, version)
	if !ok {
		return nil, false
	}
	return decodeBase64(text)
}
