package webhooks

import (
	"context"
	"encoding/json"
	"errors"
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
	s       *Service
	args    laneArgs
	target  target
	version int64     // the endpoint's, as the last turn said
	until   time.Time // the end of its slice
	asked   time.Time // when the last turn was asked for; its lease began later
}

// runLane handles webhook.deliver: it sends the endpoint's due deliveries one after the other. No connection is held while a
// request is under way.
func (s *Service) runLane(ctx context.Context, raw json.RawMessage) error {
	l := sender{s: s, until: time.Now().Add(laneSlice)}
	if err := json.Unmarshal(raw, &l.args); err != nil || l.args.Token == "" {
		return jobs.Discard(fmt.Errorf("lane without a slot: %s", raw))
	}
	for first := true; ; first = false {
		t, err := l.turn(ctx, turn{args: l.args, last: !first && l.over()})
		switch {
		case err != nil:
			return err
		case t.leased > 0:
			return jobs.Snooze(t.leased)
		case t.next != nil:
			t, err = l.work(ctx, t)
			if err != nil || ctx.Err() != nil {
				return errors.Join(err, ctx.Err())
			}
		}
		if t.again == 0 {
			return nil
		}
		if err := loop.Sleep(ctx, t.again); err != nil {
			return err
		}
	}
}

func (l *sender) over() bool { return !time.Now().Before(l.until) }

// turn makes a turn and remembers what it says of the endpoint and the lease.
func (l *sender) turn(ctx context.Context, t turn) (turned, error) {
	asked := time.Now()
	answer, err := l.s.clerk.turn(ctx, t)
	if err == nil {
		l.version, l.asked = answer.version, asked
	}
	return answer, err
}

// work sends what is in hand, then the next, until there is none, and answers the turn that said so. While a success is
// recorded it sends what was set aside.
func (l *sender) work(ctx context.Context, t turned) (turned, error) {
	done, ahead := l.send(ctx, t.next), t.ahead
	for {
		done.last = l.over() || ctx.Err() != nil
		if ahead != nil {
			done.ahead, done.early = ahead.ID, l.mayRunAhead(done)
		}
		t, following, err := l.record(ctx, done, ahead)
		switch {
		case err != nil || ctx.Err() != nil && following == nil:
			return turned{}, err
		case t.kept != "" && following != nil:
			following.sent.Lease = t.kept
			done = *following
		case t.kept != "":
			ahead.Lease = t.kept
			done = l.send(ctx, ahead)
		case t.next != nil:
			done = l.send(ctx, t.next)
		default:
			return t, nil
		}
		ahead = t.ahead
	}
}

// mayRunAhead says whether what was set aside may be sent before the last result is on record: it was a success, the lane
// goes on, no other lane of the endpoint has met a refusal since, and the lease covers a whole request.
func (l *sender) mayRunAhead(done turn) bool {
	return !done.last && done.result.state == Delivered && !l.s.setbacks.since(l.args.EndpointID, l.asked) &&
		time.Until(l.ends()) > l.s.cfg.Timeout
}

// ends is when the lane must have its answer: the slot's lease ends later, by what it takes to record it.
func (l *sender) ends() time.Time { return l.asked.Add(l.s.lease() - leaseMargin/2) }

// send makes the request of a delivery in hand.
func (l *sender) send(ctx context.Context, t *taken) turn {
	ctx, cancel := context.WithDeadline(ctx, l.ends())
	defer cancel()
	done := turn{args: l.args, sent: t}
	response, err := l.post(ctx, t)
	if err != nil {
		// Not sent, through a fault of ours: nothing is spent.
		done.result = &outcome{state: Pending, reason: clean(err.Error(), 500), wait: 5 * time.Second}
		return done
	}
	o := l.s.judge(int(t.Attempts), response, time.Now())
	if o.sent && !o.healthy {
		l.s.setbacks.note(l.args.EndpointID)
	}
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
func (l *sender) post(ctx context.Context, t *taken) (guard.Response, error) {
	if l.version != l.target.version {
		target, err := l.s.loadTarget(ctx, l.args.EndpointID)
		if err != nil {
			return guard.Response{}, err
		}
		l.target = target
	}
	if t.delay > 0 {
		if err := loop.Sleep(ctx, t.delay); err != nil {
			return guard.Response{Err: err}, nil
		}
	}
	body := payload(*t)
	at := t.TakenAt.Add(time.Since(t.received)) // the database's time: hosts' clocks differ
	ctx, span := l.s.traced(ctx, l.args.EndpointID, t)
	header, err := headersOf(l.target.headers, l.target.keysAt(at), *t, span.Traceparent(), at, body)
	if err != nil {
		span.EndRequest(0, "unsigned")
		return guard.Response{}, err
	}
	response := l.s.client.Post(ctx, guard.Request{URL: l.target.url, Header: header, Body: body})
	span.EndRequest(response.Status, requestFault(response))
	return response, nil
}

// record hands in a result, sends what was set aside meanwhile where the turn says so, and answers the turn and that
// result. While the database does not answer it tries again as long as the lease stands; after that the delivery is sent
// again by whoever takes it.
func (l *sender) record(ctx context.Context, done turn, ahead *taken) (answer turned, following *turn, err error) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.s.cfg.Timeout+leaseMargin)
	defer cancel()
	begun := time.Now()
	waiting, err := l.s.clerk.ask(within, done)
	if err != nil {
		return turned{}, nil, err
	}
	if done.early {
		next := l.send(ctx, ahead)
		following = &next
	}
	for answer, err = waiting.wait(within); err != nil; answer, err = l.s.clerk.turn(within, done) {
		if time.Since(begun) > leaseMargin || loop.Sleep(within, recordAgain) != nil {
			return turned{}, nil, err
		}
	}
	l.version, l.asked = answer.version, begun
	return answer, following, nil
}
