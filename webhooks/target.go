package webhooks

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
	"github.com/postbus/postbus/webhooks/internal/sign"
)

// target is what a lane needs of its endpoint to send, with secrets in the clear: it stays in memory, and is loaded again
// when the version changes.
type target struct {
	version int64
	url     string
	headers http.Header
	keys    []signingKey // the newest first
}

type signingKey struct {
	key       sign.Key
	expiresAt *time.Time
}

// keysAt answers the keys that are valid at the time.
func (t target) keysAt(now time.Time) []sign.Key {
	keys := make([]sign.Key, 0, len(t.keys))
	for _, k := range t.keys {
		if k.expiresAt == nil || k.expiresAt.After(now) {
			keys = append(keys, k.key)
		}
	}
	return keys
}

// loadTarget reads and opens it, of one moment and without a transaction. Secrets that have ended are left out already.
func (s *Service) loadTarget(ctx context.Context, endpointID string) (target, error) {
	rows, err := queries(s.db()).LoadTarget(ctx, webhooksql.LoadTargetParams{ID: endpointID})
	if err != nil {
		return target{}, fmt.Errorf("load endpoint %s: %w", endpointID, err)
	}
	if len(rows) == 0 {
		return target{}, noEndpoint(endpointID)
	}
	first := rows[0]
	headers, err := s.openHeaders(endpointID, first.HeadersKey, first.Headers)
	if err != nil {
		return target{}, err
	}
	t := target{version: first.Version, url: first.Url, headers: httpHeader(headers)}
	for _, row := range rows {
		if row.SecretID == "" {
			continue
		}
		key, err := s.openSecret(endpointID, row.SecretID, row.KeyID, row.Sealed)
		if err != nil {
			return target{}, err
		}
		t.keys = append(t.keys, signingKey{key: key, expiresAt: row.ExpiresAt})
	}
	return t, nil
}
