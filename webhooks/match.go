package webhooks

import (
	"encoding/json"
	"strings"

	"github.com/postbus/postbus/events"
)

// takes says whether the event's type and the endpoint's scope let the event go there. Neither owner nor exposure is looked
// at.
func (e Endpoint) takes(event events.Event) bool { return e.takesCandidate(&candidate{Event: event}) }

// takesCandidate is takes for a caller that asks many endpoints: the event's data is decoded at most once.
func (e Endpoint) takesCandidate(c *candidate) bool {
	for _, glob := range e.Types {
		if events.GlobMatches(glob, c.Type) {
			return e.Scope.holds(c)
		}
	}
	return false
}

func (sc Scope) matches(event events.Event) bool { return sc.holds(&candidate{Event: event}) }

func (sc Scope) holds(c *candidate) bool {
	if len(sc.Subjects) > 0 && !anySubjectMatches(sc.Subjects, c.Subject) {
		return false
	}
	if len(sc.Data) == 0 {
		return true
	}
	data := c.topLevel()
	for key, values := range sc.Data {
		raw, there := data[key]
		if !there || !anyEquals(values, raw) {
			return false
		}
	}
	return true
}

// candidate is an event that endpoints are asked about.
type candidate struct {
	events.Event
	decoded bool
	data    map[string]json.RawMessage
}

// topLevel answers the data's keys, none where it is no object. Of a key that is repeated the last one counts.
func (c *candidate) topLevel() map[string]json.RawMessage {
	if !c.decoded {
		c.decoded = true
		if json.Unmarshal(c.Data, &c.data) != nil {
			c.data = nil
		}
	}
	return c.data
}

func anySubjectMatches(patterns []string, subject string) bool {
	for _, pattern := range patterns {
		prefix, open := strings.CutSuffix(pattern, "*")
		if pattern == subject || open && strings.HasPrefix(subject, prefix) {
			return true
		}
	}
	return false
}

func anyEquals(values []any, raw json.RawMessage) bool {
	is, err := decodeScalar(raw)
	if err != nil {
		return false
	}
	for _, value := range values {
		if equalScalars(value, is) {
			return true
		}
	}
	return false
}

func equalScalars(a, b any) bool {
	x, isNumber := a.(json.Number)
	y, both := b.(json.Number)
	if !isNumber || !both {
		return !isNumber && !both && a == b
	}
	value, ok := canonicalNumber(x.String())
	other, okToo := canonicalNumber(y.String())
	return ok && okToo && value == other
}
