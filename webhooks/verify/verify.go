package verify

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	defaultTolerance = 5 * time.Minute
	maxSignatures    = 32 // Anyone may send a list, and checking an Ed25519 signature costs some 50 µs.
)

// Verifier checks messages. It is made by [New] and may be used by many goroutines at once.
type Verifier struct {
	// Tolerance is how far a timestamp may be from now, either way. Defaults to 5 minutes. Set it before the first use.
	Tolerance time.Duration

	keys *keys
	now  func() time.Time // Replaced in tests only.
}

// Message is what the headers of a message that was accepted say.
type Message struct {
	ID        string    // The same at every attempt: skip what was handled already.
	Timestamp time.Time // When this attempt was made, to the second, UTC.
}

// New gives a Verifier that accepts what any of the secrets fits. A secret is "whsec_" and the base64 of 24 to 64 bytes,
// or "whpk_" and the base64 of a public key of 32 bytes; several are wanted while the sender changes from one to the next.
func New(secrets ...string) (*Verifier, error) {
	if len(secrets) == 0 {
		return nil, fmt.Errorf("no secret: %s", wantedSecret)
	}
	v := &Verifier{keys: &keys{}, now: time.Now}
	for i, secret := range secrets {
		if err := v.keys.add(secret); err != nil {
			return nil, fmt.Errorf("secret %d of %d %w", i+1, len(secrets), err)
		}
	}
	return v, nil
}

// Verify checks a message. body is the request's body byte by byte as it arrived: JSON that was decoded and encoded again
// does not fit. Errors are [ErrMissingHeader], [ErrTimestamp] and [ErrSignature], with the reason in their text.
func (v *Verifier) Verify(header http.Header, body []byte) (Message, error) {
	c, err := v.read(header)
	if err != nil {
		return Message{}, err
	}
	return v.check(c, body)
}

// A claim is what the headers say before a signature was found to fit.
type claim struct {
	message    Message
	timestamp  string
	signatures []string
}

// read does all that needs no body, so that what is stale or incomplete costs little.
func (v *Verifier) read(header http.Header) (claim, error) {
	c := claim{message: Message{ID: header.Get("webhook-id")}, timestamp: header.Get("webhook-timestamp")}
	c.signatures = strings.Fields(strings.Join(header.Values("webhook-signature"), " "))
	switch {
	case c.message.ID == "":
		return claim{}, fmt.Errorf("%w: webhook-id", ErrMissingHeader)
	case c.timestamp == "":
		return claim{}, fmt.Errorf("%w: webhook-timestamp", ErrMissingHeader)
	case len(c.signatures) == 0:
		return claim{}, fmt.Errorf("%w: webhook-signature", ErrMissingHeader)
	case len(c.signatures) > maxSignatures:
		return claim{}, fmt.Errorf("%w: %d signatures, at most %d are read", ErrSignature, len(c.signatures), maxSignatures)
	case strings.Contains(c.message.ID, "."):
		return claim{}, fmt.Errorf("%w: the id has a \".\" in it, so what was signed is ambiguous", ErrSignature)
	}
	var err error
	c.message.Timestamp, err = v.readTimestamp(c.timestamp)
	return c, err
}

func (v *Verifier) readTimestamp(text string) (time.Time, error) {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != text {
		return time.Time{}, fmt.Errorf("%w: webhook-timestamp is not a number of seconds since 1970", ErrTimestamp)
	}
	tolerance := v.Tolerance
	if tolerance <= 0 {
		tolerance = defaultTolerance
	}
	at, now := time.Unix(seconds, 0).UTC(), v.now()
	if at.Before(now.Add(-tolerance)) || at.After(now.Add(tolerance)) {
		return time.Time{}, fmt.Errorf("%w: it is %s away from this clock, at most %s is accepted: "+
			"compare the clocks of sender and receiver", ErrTimestamp, now.Sub(at).Abs().Round(time.Second), tolerance)
	}
	return at, nil
}

func (v *Verifier) check(c claim, body []byte) (Message, error) {
	content := make([]byte, 0, len(c.message.ID)+len(c.timestamp)+len(body)+2)
	content = fmt.Appendf(content, "%s.%s.", c.message.ID, c.timestamp)
	if !v.keys.fit(append(content, body...), c.signatures) {
		return Message{}, fmt.Errorf("%w: no signature fits a secret: check that the secret is the one of this endpoint "+
			"and that the body is taken as it arrived, not decoded and encoded again", ErrSignature)
	}
	return c.message, nil
}
