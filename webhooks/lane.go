package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/webhooks/internal/guard"
)

const (
	// laneSlice is how long a lane goes on before it goes to the end of its queue: lanes of other endpoints wait there.
	laneSlice = time.Second
	// recordAgain is the pause after a result that could not be recorded.
	recordAgain = 100 * time.Millisecond
)

// lease is how long a slot is held for one request: the request, the wait for the endpoint's rate, and time to record the
// result. Nothing else sends while it stands.
func (s *Service) lease() time.Duration { return s.cfg.Timeout + maxDelay + leaseMargin }

// sender is a lane at work.
type sender struct {
	s      *Service
	args   laneArgs
	target target
	until  time.Time // the end of its slice
}

// runLane handles webhook.deliver: it sends the endpoint's due deliveries one after the other. No connection is held while a
// request is under way.
func (s *Service) runLane(ctx context.Context, raw json.RawMessage) error {
	l := sender{s: s, until: time.Now().Add(laneSlice)}
	if err := json.Unmarshal(raw, &l.args); err != nil || l.args.Token == "" {
		return jobs.Discard(fmt.Errorf("lane without a slot: %s", raw))
	}
	asked := time.Now()
	t, err := s.clerk.turn(ctx, turn{args: l.args})
	for {
		switch {
		case err != nil:
			return err
		case t.leased > 0:
			return jobs.Snooze(t.leased)
		case t.next == nil && t.again == 0:
			return nil
		case t.next == nil:
			if err := loop.Sleep(ctx, t.again); err != nil {
				return err
			}
			asked = time.Now()
			t, err = s.clerk.turn(ctx, turn{args: l.args, last: l.over()})
			continue
		}
		done := l.send(ctx, t, asked)
		if t, asked, err = l.record(ctx, done); ctx.Err() != nil && err == nil {
			return ctx.Err()
		}
	}
}

func (l *sender) over() bool { return !time.Now().Before(l.until) }

// send makes the request of a delivery in hand. asked is when it was asked for: its lease began later.
func (l *sender) send(ctx context.Context, t turned, asked time.Time) turn {
	ends := asked.Add(l.s.lease() - leaseMargin/2)
	ctx, cancel := context.WithDeadline(ctx, ends)
	defer cancel()
	done := turn{args: l.args, sent: t.next}
	response, err := l.post(ctx, t)
	if err != nil {
		// Not sent, through a fault of ours: nothing is spent.
		done.result = &outcome{state: Pending, reason: clean(err.Error(), 500), wait: 5 * time.Second}
		return done
	}
	o := l.s.judge(int(t.next.Attempts), response, time.Now())
	done.result = &o
	done.answer = &reply{
		url: l.target.url, status: response.Status, latency: response.Latency, headers: response.Header,
		body: response.Body, truncated: response.Truncated,
	}
	if response.Err != nil {
		done.answer.err = response.Err.Error()
	}
	return done
}

// post sends, after the wait that the endpoint's rate asks for.
func (l *sender) post(ctx context.Context, t turned) (guard.Response, error) {
	if t.version != l.target.version {
		target, err := l.s.loadTarget(ctx, l.args.EndpointID)
		if err != nil {
			return guard.Response{}, err
		}
		l.target = target
	}
	if t.next.delay > 0 {
		if err := loop.Sleep(ctx, t.next.delay); err != nil {
			return guard.Response{Err: err}, nil
		}
	}
	body := payload(*t.next)
	at := t.next.TakenAt.Add(time.Since(t.next.received)) // the database's time: hosts' clocks differ
	header, err := headersOf(l.target.headers, l.target.keysAt(at), *t.next, at, body)
	if err != nil {
		return guard.Response{}, err
	}
	return l.s.client.Post(ctx, guard.Request{URL: l.target.url, Header: header, Body: body}), nil
}

// record hands in the result and takes the next delivery. While the database does not answer it tries again as long as the
// lease stands; after that the delivery is sent again by whoever takes it.
func (l *sender) record(ctx context.Context, done turn) (turned, time.Time, error) {
	done.last = l.over() || ctx.Err() != nil
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseMargin)
	defer cancel()
	for {
		asked := time.Now()
		t, err := l.s.clerk.turn(within, done)
		if err == nil || within.Err() != nil {
			return t, asked, err
		}
		if loop.Sleep(within, recordAgain) != nil {
			return t, asked, err
		}
	}
}
