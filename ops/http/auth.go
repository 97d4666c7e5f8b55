package opshttp

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/postbus/postbus/ops"
)

// Authenticate says who sends a request. A request that shows nothing is of the zero Identity, who may call nothing. An error
// is answered as ops.Explain tells it; one that has a method RetryAfter() time.Duration, itself or in what it wraps, sets the
// header Retry-After.
type Authenticate func(r *http.Request) (ops.Identity, error)

// maxToken is how long a token may be.
const maxToken = 512

var saneToken = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// Bearer reads the token of Authorization: Bearer and asks check whose it is.
func Bearer(check func(ctx context.Context, token string) (ops.Identity, error)) Authenticate {
	return func(r *http.Request) (ops.Identity, error) {
		given := r.Header.Values("Authorization")
		if len(given) == 0 {
			return ops.Identity{}, nil
		}
		scheme, token, _ := strings.Cut(given[0], " ")
		token = strings.TrimSpace(token)
		if len(given) > 1 || !strings.EqualFold(scheme, "Bearer") || len(token) > maxToken || !saneToken.MatchString(token) {
			return ops.Identity{}, &ops.Error{Code: ops.Unauthenticated, Message: "the header Authorization is not \"Bearer\" and a token"}
		}
		return check(r.Context(), token)
	}
}
