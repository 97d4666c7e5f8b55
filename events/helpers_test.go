package events

import (
	"encoding/json"
	"testing"
)

func jsonEventID(t *testing.T, args any) string {
	t.Helper()
	var a jobArgs
	if err := json.Unmarshal(args.(json.RawMessage), &a); err != nil {
		t.Fatal(err)
	}
	return a.EventID
}
