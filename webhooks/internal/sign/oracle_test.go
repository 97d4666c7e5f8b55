package sign_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	oracle "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"pgregory.net/rapid"

	"github.com/postbus/postbus/webhooks/internal/sign"
	"github.com/postbus/postbus/webhooks/verify"
)

type message struct {
	id   string
	at   time.Time
	body []byte
}

func drawMessage(t *rapid.T) message {
	return message{
		id:   rapid.StringMatching(`[!-\-/-~]{1,40}`).Draw(t, "id"),
		at:   time.Now().Add(time.Duration(rapid.IntRange(-240, 240).Draw(t, "seconds away")) * time.Second),
		body: rapid.SliceOfN(rapid.Byte(), 1, 200).Draw(t, "body"),
	}
}

func drawKey(t *rapid.T) sign.Key {
	if rapid.Bool().Draw(t, "new") {
		return sign.NewSecret()
	}
	key := rapid.SliceOfN(rapid.ByteRange(1, 255), 24, 64).Draw(t, "secret")
	return parse(t, "whsec_"+encode(key))
}

// changed gives the headers and body after one byte of id, timestamp or body became another.
func changed(t *rapid.T, header http.Header, body []byte) (http.Header, []byte) {
	header, body = header.Clone(), append([]byte(nil), body...)
	swap := func(text string, alphabet string) string {
		i := rapid.IntRange(0, len(text)-1).Draw(t, "where")
		c := rapid.SampledFrom([]byte(strings.ReplaceAll(alphabet, text[i:i+1], ""))).Draw(t, "to")
		return text[:i] + string(c) + text[i+1:]
	}
	switch rapid.SampledFrom([]string{"id", "timestamp", "body"}).Draw(t, "changed") {
	case "id":
		header.Set("webhook-id", swap(header.Get("webhook-id"), "abcdefgh.-_01"))
	case "timestamp":
		header.Set("webhook-timestamp", swap(header.Get("webhook-timestamp"), "0123456789"))
	case "body":
		body[rapid.IntRange(0, len(body)-1).Draw(t, "where")] ^= rapid.ByteRange(1, 255).Draw(t, "by")
	}
	return header, body
}

// What is signed here the reference library accepts, what it signs package verify accepts, and neither accepts anything
// of which one byte is another.
func TestSignAndVerifyAgreeWithTheReferenceLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, k, old := drawMessage(t), drawKey(t), drawKey(t)
		theirs, err := oracle.NewWebhook(k.Reveal())
		noError(t, err)
		ours, err := verify.New(k.Reveal())
		noError(t, err)

		header := http.Header{}
		noError(t, sign.Set(header, []sign.Key{old, k}, m.id, m.at, m.body))
		noError(t, theirs.Verify(m.body, header))
		got, err := ours.Verify(header, m.body)
		noError(t, err)
		if got.ID != m.id || got.Timestamp.Unix() != m.at.Unix() {
			t.Fatalf("sent %q of %s, received %v", m.id, m.at, got)
		}

		other, body := changed(t, header, m.body)
		if theirs.Verify(body, other) == nil {
			t.Fatal("the reference library accepts a change")
		}
		if _, err := ours.Verify(other, body); err == nil {
			t.Fatal("verify accepts a change")
		}

		signature, err := theirs.Sign(m.id, m.at, m.body)
		noError(t, err)
		header.Set("webhook-signature", signature)
		_, err = ours.Verify(header, m.body)
		noError(t, err)
	})
}

// The reference library knows no Ed25519: the two halves are held against each other, and the vectors against it.
func TestKeyPairsSignWhatVerifyAccepts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t)
		k, public := sign.NewKeyPair()
		ours, err := verify.New(sign.NewSecret().Reveal(), public)
		noError(t, err)
		header := http.Header{}
		noError(t, sign.Set(header, []sign.Key{k}, m.id, m.at, m.body))
		_, err = ours.Verify(header, m.body)
		noError(t, err)
		header, body := changed(t, header, m.body)
		if _, err := ours.Verify(header, body); err == nil {
			t.Fatal("verify accepts a change")
		}
	})
}

func TestSetSendsTheTimestampThatItSigned(t *testing.T) {
	t.Parallel()
	header := http.Header{}
	at := time.Unix(1614265330, 999_999_999).In(time.FixedZone("away", 3600))
	if err := sign.Set(header, []sign.Key{sign.NewSecret()}, "a", at, nil); err != nil {
		t.Fatal(err)
	}
	if got := header.Get("webhook-timestamp"); got != strconv.Itoa(1614265330) {
		t.Errorf("webhook-timestamp is %s", got)
	}
}
