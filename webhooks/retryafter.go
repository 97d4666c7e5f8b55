package webhooks

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter caps what a receiver may ask for.
const maxRetryAfter = 10 * time.Hour

// retryAfter reads Retry-After of a 429 or 503: seconds, or a date. A date is measured against the answer's own Date where
// there is one, since clocks differ. Less than a second is a second.
func retryAfter(status int, h http.Header, now time.Time) (time.Duration, bool) {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return 0, false
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	var wait time.Duration
	if seconds, err := strconv.ParseUint(text, 10, 64); err == nil {
		wait = time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	} else if isDigits(text) {
		wait = maxRetryAfter // more than 64 bits of seconds
	} else {
		at, err := http.ParseTime(text)
		if err != nil {
			return 0, false
		}
		if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
			now = theirs
		}
		wait = at.Sub(now)
	}
	return min(max(wait, time.Second), maxRetryAfter), true
}
func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
