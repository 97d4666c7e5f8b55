package verify

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

func encoded(prefix string, size int) string {
	return prefix + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("Z", size)))
}

func TestNewRefusesWhatIsNoSecret(t *testing.T) {
	t.Parallel()
	for secret, want := range map[string]string{
		"":                                       `secret 2 of 2 is empty: configure the endpoint's secret ("whsec_…")`,
		"v1," + vectorSecret:                     `leave out all before "whsec_"`,
		"v1a," + vectorPublic:                    `leave out all before "whsec_"`,
		"WlpaWlpaWlpaWlpaWlpaWlpa":               `starts neither with "whsec_" nor with "whpk_"`,
		"Whsec_WlpaWlpaWlpaWlpa":                 `starts neither with "whsec_" nor with "whpk_"`,
		" " + vectorSecret:                       `starts neither with "whsec_" nor with "whpk_"`,
		vectorSecret + "\n":                      `not standard base64 with padding behind "whsec_"`,
		vectorSecret + " ":                       `not standard base64 with padding behind "whsec_"`,
		encoded("whsec_", 25)[:41]:               `not standard base64 with padding behind "whsec_"`,
		"whsec_WlpaWlpaWlpaWlpaWlpaWlpa-_-_":     `not standard base64 with padding behind "whsec_"`,
		"whsec_WlpaWlpaWlpaWlpaWlpaWlpaWl==":     `not standard base64 with padding behind "whsec_"`,
		"whsec_":                                 `has 0 bytes behind "whsec_", wanted are 24 to 64`,
		encoded("whsec_", 23):                    `has 23 bytes behind "whsec_", wanted are 24 to 64`,
		encoded("whsec_", 65):                    `has 65 bytes behind "whsec_", wanted are 24 to 64`,
		"whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA": `is all zeros`,
		encoded("whpk_", 31):                     `has 31 bytes behind "whpk_", wanted are 32`,
		encoded("whpk_", 33):                     `has 33 bytes behind "whpk_", wanted are 32`,
		"whpk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=": `is all zeros`,
		encoded("whsk_", 64): `is a private key`,
	} {
		_, err := New(vectorSecret, secret)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%q): got %v, want %s", secret, err, want)
		}
		if strings.Contains(fmt.Sprint(err), "Wlpa") || strings.Contains(fmt.Sprint(err), "MfKQ") {
			t.Errorf("the error holds a part of the secret: %v", err)
		}
	}
	if _, err := New(); err == nil {
		t.Error("New without a secret accepts everything or nothing: it must be refused")
	}
}

func TestNewTakesSecretsUpToTheLimits(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{encoded("whsec_", 24), encoded("whsec_", 32), encoded("whsec_", 64), encoded("whpk_", 32)} {
		if _, err := New(secret); err != nil {
			t.Errorf("New(%q): %v", secret, err)
		}
	}
}
