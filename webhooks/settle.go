package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

// reply is what is kept of an answer.
type reply struct {
	url       string
	status    int
	latency   time.Duration
	err       string
	headers   http.Header
	body      []byte
	truncated bool
}

// verdict gathers what the results of a session mean for one endpoint.
type verdict struct {
	healthy, failing bool
	cooldown         time.Duration
	disable          string
	lines            []string
}

// settle writes the results: the deliveries, the attempts, the endpoints' health. Results of lanes that lost their lease are
// dropped; the delivery is in another hand.
func (e *session) settle(ctx context.Context) error {
	d := webhooksql.SettleDeliveriesParams{}
	verdicts := map[string]*verdict{}
	for _, t := range e.turns {
		if t.sent == nil || !e.holds(t) {
			continue
		}
		id := t.args.EndpointID
		row := e.endpoints[id]
		o := *t.result
		if row == nil {
			o = o.at(false, false, nil)
		} else {
			o = o.at(true, row.Enabled, row.DisabledReason)
		}
		addResult(&d, t, o)
		if o.sent && !t.bare {
			addAttempt(&d, t, o)
		}
		v := verdicts[id]
		if v == nil {
			v = &verdict{}
			verdicts[id] = v
		}
		v.add(o, t.sent.Line)
	}
	if len(d.DeliveryIds) == 0 {
		return nil
	}
	rows, err := queries(e.tx).SettleDeliveries(ctx, d)
	if err != nil {
		return fmt.Errorf("settle deliveries: %w", err)
	}
	e.ends.settled(rows, e.turns)
	for _, id := range slices.Sorted(maps.Keys(verdicts)) {
		if row := e.endpoints[id]; row != nil {
			if err := e.apply(ctx, row, verdicts[id]); err != nil {
				return fmt.Errorf("endpoint %s: %w", id, err)
			}
		}
	}
	return nil
}

func addResult(d *webhooksql.SettleDeliveriesParams, t turn, o outcome) {
	d.DeliveryIds = append(d.DeliveryIds, t.sent.ID)
	d.States = append(d.States, string(o.state))
	d.Reasons = append(d.Reasons, clean(o.reason, 1000))
	d.Spent = append(d.Spent, count(o.spent))
	d.Tries = append(d.Tries, count(o.sent))
	d.WaitsSeconds = append(d.WaitsSeconds, o.wait.Seconds())
}

func addAttempt(a *webhooksql.SettleDeliveriesParams, t turn, o outcome) {
	r := t.answer
	a.LoggedIds = append(a.LoggedIds, t.sent.ID)
	a.Ns = append(a.Ns, t.sent.Tries+1)
	a.EndpointIds = append(a.EndpointIds, t.args.EndpointID)
	a.Urls = append(a.Urls, clean(r.url, 2048))
	a.LoggedSpent = append(a.LoggedSpent, o.spent)
	a.Statuses = append(a.Statuses, int32(r.status))
	a.LatenciesMs = append(a.LatenciesMs, float64(r.latency)/float64(time.Millisecond))
	a.Errors = append(a.Errors, clean(r.err, 2000))
	a.Headers = append(a.Headers, headersJSON(r.headers))
	a.Bodies = append(a.Bodies, r.body)
	a.Truncateds = append(a.Truncateds, r.truncated)
}

func (v *verdict) add(o outcome, line string) {
	v.healthy = v.healthy || o.healthy
	v.failing = v.failing || o.failing
	v.cooldown = max(v.cooldown, o.cooldown)
	if o.disable != "" {
		v.disable = o.disable
	}
	if line != "" {
		v.lines = append(v.lines, line)
	}
}

// apply brings the endpoint's health up to date. One success ends a run of failures, also beside others that failed.
func (e *session) apply(ctx context.Context, row *webhooksql.LockEndpointsRow, v *verdict) error {
	q := queries(e.tx)
	if row.Ordered {
		if err := e.s.lineUp(ctx, e.tx, row.ID, v.lines); err != nil {
			return err
		}
	}
	switch {
	case v.healthy && row.FailingSince != nil:
		if err := q.EndpointsSucceeded(ctx, webhooksql.EndpointsSucceededParams{Ids: []string{row.ID}}); err != nil {
			return err
		}
		row.FailingSince = nil
	case v.failing && !v.healthy && row.FailingSince == nil:
		if err := q.EndpointsFailed(ctx, webhooksql.EndpointsFailedParams{Ids: []string{row.ID}}); err != nil {
			return err
		}
		now := time.Now()
		row.FailingSince = &now
	case v.failing && !v.healthy && seconds(row.FailingSeconds) >= e.s.cfg.DisableAfter && v.disable == "":
		v.disable = fmt.Sprintf("no attempt succeeded for %s", e.s.cfg.DisableAfter)
	}
	if v.cooldown > 0 {
		if err := q.CoolDown(ctx, webhooksql.CoolDownParams{ID: row.ID, Seconds: v.cooldown.Seconds()}); err != nil {
			return err
		}
		row.Cooling = true
	}
	if v.disable != "" && row.Enabled {
		return e.disable(ctx, row, v.disable)
	}
	return nil
}

// discardAtOnce is how many waiting deliveries are discarded in the turn that disables their endpoint.
const discardAtOnce = 1000

// disable closes the endpoint, for a reason that its receiver gave, and tells of it by an event.
func (e *session) disable(ctx context.Context, row *webhooksql.LockEndpointsRow, why string) error {
	q := queries(e.tx)
	if _, err := q.DisableEndpoint(ctx, webhooksql.DisableEndpointParams{ID: row.ID, Reason: why}); err != nil {
		return err
	}
	row.Enabled, row.DisabledReason = false, &why
	n, err := q.DiscardSome(ctx, webhooksql.DiscardSomeParams{EndpointID: row.ID, Reason: disabled(&why), Most: discardAtOnce})
	if err != nil {
		return err
	}
	e.ends.givenUp += n
	return e.s.bus.Recorder().With(e.tx).Record(ctx, row.OwnerID, EndpointDisabled, row.ID,
		map[string]string{"endpoint_id": row.ID, "reason": why})
}

func count(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// clean makes a text fit for the database, whatever a receiver sent, and bounds it in bytes.
func clean(s string, most int) string {
	if len(s) > most {
		s = s[:most]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// maxHeaderBytes is how much of an answer's headers is kept.
const maxHeaderBytes = 16 << 10

func headersJSON(h http.Header) string {
	kept := map[string][]string{}
	left := maxHeaderBytes
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			if left -= len(name) + len(value); left < 0 {
				break
			}
			kept[clean(name, maxHeaderBytes)] = append(kept[clean(name, maxHeaderBytes)], clean(value, maxHeaderBytes))
		}
	}
	raw, _ := json.Marshal(kept) // strings only: cannot fail
	return string(raw)
}
