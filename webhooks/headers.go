package webhooks

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

const (
	maxHeaders     = 20
	maxHeaderName  = 100
	maxHeaderValue = 2 << 10
)

// refusedHeaders are custom header names that may not be, and why; a name that ends in "-" stands for all that begin so.
var refusedHeaders = []struct{ name, why string }{
	{"host", "the URL says it"},
	{"content-", "the payload says it"},
	{"webhook-", "the signature is there"},
	{"transfer-encoding", "it would change how the request is framed"},
	{"connection", "it is about the connection and not the request"},
	{"keep-alive", "it is about the connection and not the request"},
	{"te", "it is about the connection and not the request"},
	{"trailer", "it would change how the request is framed"},
	{"upgrade", "it is about the connection and not the request"},
	{"proxy-", "it is meant for a proxy, which Config.Proxy names"},
	{"expect", "the receiver would be waited for twice"},
	{"accept-encoding", "answers are taken as they are, never unpacked"},
	{"cookie", "requests carry no cookies; use a header of your own"},
	{"user-agent", "Config.UserAgent says it"},
	{"traceparent", "the event's own is sent"},
	{"tracestate", "the event's own trace is sent"},
	{"idempotency-key", "webhook-id is the key: it is the same over all attempts"},
	{"x-idempotency-key", "webhook-id is the key: it is the same over all attempts"},
}

// checkHeaders says what is wrong with custom headers. No text of it holds a value: they often are credentials.
func checkHeaders(headers map[string]string) error {
	if len(headers) > maxHeaders {
		return fmt.Errorf("%w: headers has %d entries; use at most %d", ErrInvalid, len(headers), maxHeaders)
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if err := checkHeaderName(name); err != nil {
			return err
		}
		lower := strings.ToLower(name)
		if seen[lower] {
			return fmt.Errorf("%w: headers has %q twice, in different case: names are equal whatever their case", ErrInvalid, lower)
		}
		seen[lower] = true
		if err := checkHeaderValue(name, headers[name]); err != nil {
			return err
		}
	}
	return nil
}

func checkHeaderName(name string) error {
	if name == "" || len(name) > maxHeaderName || strings.ContainsFunc(name, func(r rune) bool { return !isTokenChar(r) }) {
		return fmt.Errorf("%w: headers has the name %.120q; use 1 to %d letters, digits or any of !#$%%&'*+-.^_`|~",
			ErrInvalid, name, maxHeaderName)
	}
	lower := strings.ToLower(name)
	for _, refused := range refusedHeaders {
		if lower == refused.name || strings.HasSuffix(refused.name, "-") && strings.HasPrefix(lower, refused.name) {
			return fmt.Errorf("%w: header %q cannot be set: %s; leave it out", ErrInvalid, name, refused.why)
		}
	}
	return nil
}

func checkHeaderValue(name, value string) error {
	if len(value) > maxHeaderValue {
		return fmt.Errorf("%w: the value of header %q has %d bytes; use at most %d", ErrInvalid, name, len(value), maxHeaderValue)
	}
	for i, c := range []byte(value) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return fmt.Errorf("%w: the value of header %q has a control character at byte %d; leave it out", ErrInvalid, name, i)
		}
	}
	if strings.Trim(value, " \t") != value {
		return fmt.Errorf("%w: the value of header %q begins or ends with white space, which is not sent; leave it out", ErrInvalid, name)
	}
	return nil
}

// isTokenChar is tchar of RFC 9110, 5.6.2.
func isTokenChar(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

func headersContext(endpointID string) string { return endpointID + " headers" }

// sealHeaders answers nil where there are none.
func (s *Service) sealHeaders(endpointID string, headers map[string]string) (keyID *string, sealed []byte, err error) {
	if len(headers) == 0 {
		return nil, nil, nil
	}
	plain, err := json.Marshal(headers)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: headers cannot be JSON", ErrInvalid)
	}
	id, sealed, err := s.ring.Seal(plain, headersContext(endpointID))
	if err != nil {
		return nil, nil, keyError("custom headers", err)
	}
	return &id, sealed, nil
}

func (s *Service) openHeaders(endpointID, keyID string, sealed []byte) (map[string]string, error) {
	if sealed == nil {
		return nil, nil
	}
	plain, err := s.ring.Open(keyID, sealed, headersContext(endpointID))
	if err != nil {
		return nil, keyError("the headers of endpoint "+endpointID, err)
	}
	var headers map[string]string
	if json.Unmarshal(plain, &headers) != nil { // its error could show a part
		return nil, fmt.Errorf("the headers of endpoint %s: what was sealed is no JSON object of strings", endpointID)
	}
	return headers, nil
}

// headerNames answers what the headers are called, and nothing where they cannot be opened here.
func (s *Service) headerNames(row webhooksql.PostbusWebhookEndpoint) []string {
	headers, err := s.openHeaders(row.ID, deref(row.HeadersKey), row.Headers)
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(headers))
}

func httpHeader(headers map[string]string) http.Header {
	h := make(http.Header, len(headers))
	for name, value := range headers {
		h.Set(name, value)
	}
	return h
}
