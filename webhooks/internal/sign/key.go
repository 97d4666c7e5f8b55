package sign

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	secretPrefix  = "whsec_"
	privatePrefix = "whsk_"
	publicPrefix  = "whpk_"
)

// Key signs. It is a [Secret] or a [PrivateKey].
type Key interface {
	// Sign gives one signature with its version, "v1,…" or "v1a,…", and "" from a zero Key, which fits nothing.
	// What is signed is id + "." + the seconds of at since 1970 + "." + body.
	Sign(id string, at time.Time, body []byte) string
	// Reveal gives the key as its Parse function takes it. It is for the one who made it, and to be sealed.
	Reveal() string
}

// ParseKey takes what ParseSecret or ParsePrivateKey takes.
func ParseKey(text string) (Key, error) {
	if strings.HasPrefix(text, privatePrefix) {
		return ParsePrivateKey(text)
	}
	return ParseSecret(text)
}

func content(id string, at time.Time, body []byte) []byte {
	signed := make([]byte, 0, len(id)+len(body)+22) // 20 digits and two dots.
	return append(fmt.Appendf(signed, "%s.%d.", id, at.Unix()), body...)
}

// decode is written twice, here and in package verify, which receivers may copy and which therefore imports nothing.
func decode(prefix, text string) ([]byte, error) {
	text = strings.TrimPrefix(text, prefix)
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // The library skips line ends.
		return nil, fmt.Errorf("is not standard base64 with padding behind %q: send it whole, without quotes or white space",
			prefix)
	}
	if len(data) > 0 && strings.Trim(string(data), "\x00") == "" {
		return nil, errors.New("is all zeros, as in an example: leave it out to have one made")
	}
	return data, nil
}
