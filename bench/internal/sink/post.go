package sink

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// Post sends n requests to the URL, inFlight at a time over connections that stay open, and nothing else. Body is that of
// every request.
func Post(ctx context.Context, url, body string, n, inFlight int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	transport := &http.Transport{MaxIdleConnsPerHost: inFlight, DisableCompression: true}
	defer transport.CloseIdleConnections()
	var taken atomic.Int64
	var posting sync.WaitGroup
	for range inFlight {
		posting.Go(func() {
			for i := taken.Add(1); i <= int64(n) && ctx.Err() == nil; i = taken.Add(1) {
				if err := post(ctx, transport, url, fmt.Sprintf("plain-%d", i), body); err != nil {
					stop(err)
				}
			}
		})
	}
	posting.Wait()
	return context.Cause(ctx)
}

func post(ctx context.Context, transport http.RoundTripper, url, id, body string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Webhook-Id", id)
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", url, answer.Status)
	}
	return nil
}
