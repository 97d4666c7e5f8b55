package receiver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Page is where a receiver says what it has of a subject, "" for all.
func Page(base, subject string) string {
	page := strings.TrimSuffix(base, "/") + "/received"
	if subject != "" {
		page += "?subject=" + url.QueryEscape(subject)
	}
	return page
}

// Ask answers what the receiver at base has received.
func Ask(ctx context.Context, base string) (r Received, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, Page(base, ""), nil)
	if err != nil {
		return r, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return r, fmt.Errorf("ask the receiver: %w: is it up?", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return r, fmt.Errorf("ask the receiver: %s answers %s", Page(base, ""), resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		return r, fmt.Errorf("ask the receiver: %w", err)
	}
	return r, nil
}
