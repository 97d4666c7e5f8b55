package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The vectors are those of the reference server, whose tests both of them are in:
// https://github.com/svix/svix-webhooks/blob/main/server/svix-server/src/worker.rs
const (
	vectorID      = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	vectorSeconds = 1614265330
	vectorBody    = `{"test": 2432232314}`
	vectorSecret  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorV1      = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	vectorPublic  = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
	vectorV1a     = "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="
	otherSecret   = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
	otherV1       = "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
)

func vectorHeader(signatures string) http.Header {
	h := http.Header{}
	h.Set("webhook-id", vectorID)
	h.Set("webhook-timestamp", strconv.Itoa(vectorSeconds))
	h.Set("webhook-signature", signatures)
	return h
}

// verifierAt gives a Verifier whose clock stands away from the time of the vectors.
func verifierAt(t testing.TB, away time.Duration, secrets ...string) *Verifier {
	t.Helper()
	v, err := New(secrets...)
	if err != nil {
		t.Fatal(err)
	}
	v.now = func() time.Time { return time.Unix(vectorSeconds, 0).Add(away) }
	return v
}

func TestOneFittingSignatureIsEnough(t *testing.T) {
	t.Parallel()
	want := Message{ID: vectorID, Timestamp: time.Date(2021, 2, 25, 15, 2, 10, 0, time.UTC)}
	for name, c := range map[string]struct {
		secrets    []string
		signatures string
	}{
		"v1":                       {[]string{vectorSecret}, vectorV1},
		"v1a":                      {[]string{vectorPublic}, vectorV1a},
		"both":                     {[]string{vectorSecret, vectorPublic}, vectorV1 + " " + vectorV1a},
		"second secret":            {[]string{otherSecret, vectorSecret}, vectorV1},
		"second signature":         {[]string{vectorSecret}, otherV1 + " " + vectorV1},
		"behind unknown versions":  {[]string{vectorSecret}, "v9,AAAA nonsense v1 v1, ,v1 " + vectorV1},
		"two spaces":               {[]string{vectorSecret}, " " + otherV1 + "  " + vectorV1 + " "},
		"public key before secret": {[]string{vectorPublic, otherSecret}, otherV1 + " " + vectorV1a},
	} {
		got, err := verifierAt(t, 0, c.secrets...).Verify(vectorHeader(c.signatures), []byte(vectorBody))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Errorf("%s: message (-want +got):\n%s", name, diff)
		}
	}
}

func TestSignaturesInTwoHeaderLinesAreOneList(t *testing.T) {
	t.Parallel()
	h := vectorHeader(otherV1)
	h.Add("webhook-signature", vectorV1)
	if _, err := verifierAt(t, 0, vectorSecret).Verify(h, []byte(vectorBody)); err != nil {
		t.Error(err)
	}
}

func TestWhatDoesNotFitIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secret, header, value string
		want                  error
	}{
		"no id":                      {vectorSecret, "webhook-id", "", ErrMissingHeader},
		"no timestamp":               {vectorSecret, "webhook-timestamp", "", ErrMissingHeader},
		"no signature":               {vectorSecret, "webhook-signature", "", ErrMissingHeader},
		"only spaces":                {vectorSecret, "webhook-signature", "  ", ErrMissingHeader},
		"other id":                   {vectorSecret, "webhook-id", vectorID + "x", ErrSignature},
		"id with a dot":              {vectorSecret, "webhook-id", vectorID + ".1", ErrSignature},
		"other second":               {vectorSecret, "webhook-timestamp", "1614265331", ErrSignature},
		"spelled with a plus":        {vectorSecret, "webhook-timestamp", "+1614265330", ErrTimestamp},
		"spelled with a zero":        {vectorSecret, "webhook-timestamp", "01614265330", ErrTimestamp},
		"milliseconds":               {vectorSecret, "webhook-timestamp", "1614265330000", ErrTimestamp},
		"ISO 8601":                   {vectorSecret, "webhook-timestamp", "2021-02-25T15:02:10Z", ErrTimestamp},
		"beyond 64 bits":             {vectorSecret, "webhook-timestamp", "99999999999999999999", ErrTimestamp},
		"other secret":               {otherSecret, "webhook-signature", vectorV1, ErrSignature},
		"other signature":            {vectorSecret, "webhook-signature", otherV1, ErrSignature},
		"cut short":                  {vectorSecret, "webhook-signature", "v1,g0hM9SsE", ErrSignature},
		"empty":                      {vectorSecret, "webhook-signature", "v1,", ErrSignature},
		"without version":            {vectorSecret, "webhook-signature", vectorV1[3:], ErrSignature},
		"v1 called v1a":              {vectorSecret, "webhook-signature", "v1a," + vectorV1[3:], ErrSignature},
		"v1a for a secret":           {vectorSecret, "webhook-signature", vectorV1a, ErrSignature},
		"v1 for a public key":        {vectorPublic, "webhook-signature", vectorV1, ErrSignature},
		"v1a of another length":      {vectorPublic, "webhook-signature", "v1a,AAAA", ErrSignature},
		"apart by a comma":           {vectorSecret, "webhook-signature", otherV1 + "," + vectorV1, ErrSignature},
		"33rd signature is not read": {vectorSecret, "webhook-signature", strings.Repeat("v9, ", 32) + vectorV1, ErrSignature},
	} {
		h := vectorHeader(vectorV1)
		h.Set(c.header, c.value)
		m, err := verifierAt(t, 0, c.secret).Verify(h, []byte(vectorBody))
		if !errors.Is(err, c.want) || m != (Message{}) {
			t.Errorf("%s: got %v and %v, want %v", name, m, err, c.want)
		}
	}
	if _, err := verifierAt(t, 0, vectorSecret).Verify(vectorHeader(vectorV1), []byte(`{"test":2432232314}`)); !errors.Is(err, ErrSignature) {
		t.Errorf("JSON encoded again: %v", err)
	}
}

// With a "." in an id, one signature would fit two messages: here the sender signed id "a" and a body that starts with
// a number, and somebody else cuts it behind that number.
func TestOneSignatureFitsOneMessage(t *testing.T) {
	t.Parallel()
	v := verifierAt(t, 0, vectorSecret)
	h := http.Header{}
	h.Set("webhook-id", "a.1614265000")
	h.Set("webhook-timestamp", "1614265330")
	h.Set("webhook-signature", "v1,KqSbKMQGG2HbOGLvDC3CP3G1Ll6VpjTgAdusRXUqtHM=") // Of a.1614265000.1614265330.x
	if _, err := v.Verify(h, []byte("x")); !errors.Is(err, ErrSignature) || !strings.Contains(fmt.Sprint(err), "ambiguous") {
		t.Errorf("got %v", err)
	}
}

func TestATimestampIsAcceptedWithinTheToleranceBothWays(t *testing.T) {
	t.Parallel()
	const second = time.Second
	for _, c := range []struct {
		away, tolerance time.Duration
		want            error
	}{
		{0, 0, nil},
		{5 * time.Minute, 0, nil},
		{-5 * time.Minute, 0, nil},
		{5*time.Minute + second, 0, ErrTimestamp},
		{-5*time.Minute - second, 0, ErrTimestamp},
		{5*time.Minute + 1, 0, ErrTimestamp},
		{10 * second, 10 * second, nil},
		{11 * second, 10 * second, ErrTimestamp},
		{-11 * second, 10 * second, ErrTimestamp},
		{time.Hour, 2 * time.Hour, nil},
		{6 * time.Minute, -1, ErrTimestamp},
	} {
		v := verifierAt(t, c.away, vectorSecret)
		v.Tolerance = c.tolerance
		if _, err := v.Verify(vectorHeader(vectorV1), []byte(vectorBody)); !errors.Is(err, c.want) {
			t.Errorf("%s away with tolerance %s: got %v, want %v", c.away, c.tolerance, err, c.want)
		}
	}
}

func TestTimestampsAtTheEndsOfTimeAreRefused(t *testing.T) {
	t.Parallel()
	v := verifierAt(t, 0, vectorSecret)
	for _, text := range []string{"9223372036854775807", "-9223372036854775808", "0", "-1", "-0"} {
		h := vectorHeader(vectorV1)
		h.Set("webhook-timestamp", text)
		if _, err := v.Verify(h, []byte(vectorBody)); !errors.Is(err, ErrTimestamp) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestAVerifierPrintsNoSecret(t *testing.T) {
	t.Parallel()
	v := verifierAt(t, 0, vectorSecret, vectorPublic)
	encoded, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out := fmt.Sprintf("%v %+v %#v %v %+v %#v %s", v, v, v, *v, *v, *v, encoded)
	for _, leak := range []string{"MfKQ9r8G", "49 242 144 246", "0x31, 0xf2, 0x90", "31f290f6bf06"} {
		if strings.Contains(out, leak) {
			t.Errorf("it shows %q: %s", leak, out)
		}
	}
}
