package webhooks

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/postbus/postbus/webhooks/internal/sign"
)

// payload is the body of a webhook: {"id","type","subject","occurred_at","data"}, data byte for byte as it was recorded.
func payload(t taken) []byte {
	text := func(s string) []byte {
		b, _ := json.Marshal(s) // a string cannot fail
		return b
	}
	body := make([]byte, 0, len(t.Data)+256)
	body = append(body, `{"id":`...)
	body = append(body, text(t.EventID)...)
	body = append(body, `,"type":`...)
	body = append(body, text(t.EventType)...)
	body = append(body, `,"subject":`...)
	body = append(body, text(t.Subject)...)
	body = append(body, `,"occurred_at":"`...)
	body = t.OccurredAt.UTC().AppendFormat(body, time.RFC3339Nano)
	body = append(body, `","data":`...)
	body = append(body, t.Data...)
	return append(body, '}')
}

// headersOf are the endpoint's own headers and, over them, ours; a traceparent only where there is one. The signature covers the body as it is sent.
func headersOf(custom http.Header, keys []sign.Key, t taken, traceparent string, at time.Time, body []byte) (http.Header, error) {
	h := custom.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set("Content-Type", "application/json")
	if traceparent != "" {
		h.Set("Traceparent", traceparent)
	}
	return h, sign.Set(h, keys, t.EventID, at, body)
}
