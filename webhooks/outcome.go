package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/webhooks/internal/guard"
)

// outcome is what a request means for its delivery and its endpoint.
type outcome struct {
	state  DeliveryState
	reason string
	spent  bool
	wait   time.Duration // until the next attempt of a pending one
	// sent says that there is an attempt to put on record.
	sent bool
	// cooldown is how long the receiver wants to hear nothing.
	cooldown time.Duration
	// disable is why the endpoint takes no more.
	disable string
	// healthy and failing tell of the endpoint; neither says nothing of it.
	healthy, failing bool
}

// judge reads the answer to an attempt. attempts were spent before it.
func (s *Service) judge(attempts int, r guard.Response, now time.Time) outcome {
	switch {
	case r.Err != nil && errors.Is(r.Err, context.Canceled):
		// The process stops, or an operator cancelled the lane: not the receiver's doing.
		return outcome{state: Pending, reason: "interrupted"}
	case r.Blocked:
		return outcome{state: Discarded, reason: r.Err.Error(), spent: true, sent: true, failing: true}
	case r.Err == nil && r.Status >= 200 && r.Status < 300:
		return outcome{state: Delivered, spent: true, sent: true, healthy: true}
	case r.Err == nil && r.Status == http.StatusGone:
		return outcome{state: Discarded, reason: "410 Gone", spent: true, sent: true, disable: "its receiver answered 410 Gone"}
	}
	if wait, ok := retryAfter(r.Status, r.Header, now); ok && r.Err == nil {
		return outcome{state: Pending, reason: answered(r), sent: true, wait: wait, cooldown: wait}
	}
	o := outcome{state: Pending, reason: answered(r), spent: true, sent: true, failing: true}
	if attempts < len(s.cfg.Schedule) {
		o.wait = jobs.Jitter(s.cfg.Schedule[attempts])
		return o
	}
	o.state = Discarded
	o.reason = fmt.Sprintf("all %d attempts failed; the last: %s", attempts+1, o.reason)
	return o
}

// answered says in a line how an attempt failed.
func answered(r guard.Response) string {
	switch {
	case r.Err != nil:
		return r.Err.Error()
	case r.Status >= 300 && r.Status < 400:
		return fmt.Sprintf("%d %s: redirects are not followed", r.Status, http.StatusText(r.Status))
	default:
		return fmt.Sprintf("%d %s", r.Status, http.StatusText(r.Status))
	}
}

// at is the outcome where the endpoint, meanwhile, is gone or disabled: there is no next attempt.
func (o outcome) at(exists, enabled bool, why *string) outcome {
	if o.state != Pending || exists && enabled {
		return o
	}
	o.state, o.wait = Discarded, 0
	if !exists {
		o.reason = "endpoint deleted; the last attempt: " + o.reason
	} else {
		o.reason = disabled(why) + "; the last attempt: " + o.reason
	}
	return o
}
