package postbustest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/pg"
)

// Want describes an event. Empty fields match anything.
type Want struct {
	OwnerID, Type, Subject string
	// Data must equal the event's data as JSON; key order and white space do not matter.
	Data any
}

// Recorded is an event that was found.
type Recorded struct {
	ID, OwnerID, Type, Subject string
	Data                       json.RawMessage
}

// newest is how many events RequireRecorded looks back.
const newest = 200

// RequireRecorded finds the newest event, among the last 200 that db sees, which is as wanted, and answers it. db may be the
// transaction under test, before it commits. Where there is none the test fails with what was recorded instead.
func RequireRecorded(t testing.TB, db pg.DBTX, want Want) Recorded {
	t.Helper()
	rows, err := eventsql.New(db).NewestEvents(context.Background(), eventsql.NewestEventsParams{Most: newest})
	if err != nil {
		t.Fatalf("read recorded events: %v", err)
	}
	var others []string
	for _, row := range rows {
		r := Recorded{ID: row.ID, OwnerID: row.OwnerID, Type: row.Type, Subject: row.Subject, Data: row.Data}
		if matches(t, want, r) {
			return r
		}
		others = append(others, fmt.Sprintf("%s owner %q subject %q data %s", r.Type, r.OwnerID, r.Subject, r.Data))
	}
	t.Fatalf("no event like %+v was recorded; there are %d:\n%s", want, len(others), strings.Join(others, "\n"))
	return Recorded{}
}

func matches(t testing.TB, want Want, r Recorded) bool {
	t.Helper()
	for _, pair := range [][2]string{{want.OwnerID, r.OwnerID}, {want.Type, r.Type}, {want.Subject, r.Subject}} {
		if pair[0] != "" && pair[0] != pair[1] {
			return false
		}
	}
	return want.Data == nil || canonical(t, want.Data) == canonical(t, r.Data)
}

func canonical(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("wanted data cannot be marshalled: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var any any
	if err := dec.Decode(&any); err != nil {
		t.Fatalf("wanted data is not JSON: %v", err)
	}
	raw, _ = json.Marshal(any) // it was JSON a line ago
	return string(raw)
}
