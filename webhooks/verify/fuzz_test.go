package verify

import (
	"net/http"
	"strings"
	"testing"
)

// Whatever the headers hold, a message is accepted only if it is the one that was signed.
func FuzzVerifyHeader(f *testing.F) {
	f.Add(vectorID, "1614265330", vectorV1, vectorBody)
	f.Add(vectorID, "1614265330", vectorV1a, vectorBody)
	f.Add(vectorID, "+1614265330", "v1,v1 "+vectorV1, vectorBody)
	f.Add(vectorID+".1614265330", "1614265330", "v1a,"+strings.Repeat("A", 86)+"==", "")
	f.Fuzz(func(t *testing.T, id, timestamp, signature, body string) {
		h := http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {timestamp}, "Webhook-Signature": {signature}}
		m, err := verifierAt(t, 0, vectorSecret, vectorPublic).Verify(h, []byte(body))
		if err != nil {
			if m != (Message{}) {
				t.Errorf("a message came with an error: %v", m)
			}
			return
		}
		signed := strings.Contains(signature, vectorV1) || strings.Contains(signature, vectorV1a)
		if !signed || id != vectorID || timestamp != "1614265330" || body != vectorBody || m.ID != id {
			t.Errorf("accepted id %q timestamp %q signature %q body %q", id, timestamp, signature, body)
		}
	})
}

// Whatever is configured, New does not panic and its error does not show it.
func FuzzNew(f *testing.F) {
	f.Add(vectorSecret)
	f.Add(vectorPublic)
	f.Add("v1," + vectorSecret)
	f.Fuzz(func(t *testing.T, secret string) {
		v, err := New(secret)
		if (v == nil) != (err != nil) {
			t.Fatalf("New gave %v and %v", v, err)
		}
		_, body, _ := strings.Cut(secret, "_")
		if err != nil && len(body) >= 12 && strings.Contains(err.Error(), body) {
			t.Errorf("the error shows the secret: %v", err)
		}
	})
}
