package webhooks

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/postbus/postbus/internal/tracing"
	"github.com/postbus/postbus/webhooks/internal/guard"
)

// traced begins the span of a request, below the trace of the delivery's event and not below the lane, which sends for many.
func (s *Service) traced(ctx context.Context, endpointID string, t *taken) (context.Context, tracing.Span) {
	return s.cfg.Tracing.Request(ctx, t.Trace, tracing.Request{
		EventID: t.EventID, EventType: t.EventType, EndpointID: endpointID, DeliveryID: t.ID, Attempt: int(t.Tries) + 1,
	})
}

// requestFault is why an attempt failed, in one word: the status where one came, as the semantic conventions want it.
func requestFault(r guard.Response) string {
	switch {
	case r.Blocked:
		return "blocked"
	case errors.Is(r.Err, context.Canceled):
		return "canceled"
	case errors.Is(r.Err, context.DeadlineExceeded):
		return "timeout"
	case r.Err != nil:
		return "connection"
	case r.Status < http.StatusOK || r.Status >= http.StatusMultipleChoices:
		return strconv.Itoa(r.Status)
	}
	return ""
}
