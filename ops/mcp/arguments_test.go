package opsmcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/postbus/postbus/ops"
)

func operation(destructive bool, properties ...string) *ops.Operation {
	o := &ops.Operation{Destructive: destructive, Input: &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{}}}
	for _, name := range properties {
		o.Input.Properties[name] = &huma.Schema{}
	}
	if limit := o.Input.Properties["limit"]; limit != nil {
		most := 200.0
		limit.Maximum = &most
	}
	return o
}

// A page has 20 entries when limit is left out and never more than 50; what is not allowed goes on to be refused.
func TestPageSize(t *testing.T) {
	t.Parallel()
	list := operation(false, "limit", "cursor")
	for sent, want := range map[string]string{
		``: `{"limit":20}`, `{}`: `{"limit":20}`, `{"limit":0}`: `{"limit":20}`, `{"limit":7}`: `{"limit":7}`, `{"limit":50}`: `{"limit":50}`,
		`{"limit":51}`: `{"limit":50}`, `{"limit":200}`: `{"limit":50}`, `{"limit":201}`: `{"limit":201}`, `{"limit":-1}`: `{"limit":-1}`,
		`{"limit":60.5}`: `{"limit":60.5}`, `{"limit":"9"}`: `{"limit":"9"}`, `{"limit":null}`: `{"limit":null}`, `{"limit":1e9}`: `{"limit":1e9}`,
		`{"cursor":"a\u0000","x":[1]}`: `{"cursor":"a\u0000","limit":20,"x":[1]}`, `null`: `{"limit":20}`, `[]`: `[]`, `{`: `{`,
	} {
		if got, _, err := arguments(list, json.RawMessage(sent)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", sent, got, err, want)
		}
	}
	for _, o := range []*ops.Operation{operation(false), operation(false, "limit"), operation(true, "limit")} {
		if got, _, err := arguments(o, json.RawMessage(`{"a":1}`)); err != nil || string(got) != `{"a":1}` {
			t.Errorf("%v is no list: %s, %v", o.Input.Properties, got, err)
		}
	}
}

// The token is taken out of a destructive tool's arguments, and nothing else is.
func TestConfirmIsTakenOut(t *testing.T) {
	t.Parallel()
	got, token, err := arguments(operation(true), json.RawMessage(`{"id":"1","confirm":"abc"}`))
	if err != nil || token != "abc" || string(got) != `{"id":"1"}` {
		t.Errorf("%s, %q, %v", got, token, err)
	}
	got, token, err = arguments(operation(false), json.RawMessage(`{"id":"1","confirm":"abc"}`))
	if err != nil || token != "" || string(got) != `{"id":"1","confirm":"abc"}` {
		t.Errorf("not destructive: %s, %q, %v", got, token, err)
	}
	for _, wrong := range []string{`5`, `null`, `true`, `{}`, `"` + strings.Repeat("x", 101) + `"`} {
		_, _, err := arguments(operation(true), json.RawMessage(`{"confirm":`+wrong+`}`))
		if e := ops.Explain(err); e == nil || e.Code != ops.Invalid || e.Fields[0].Field != "confirm" {
			t.Errorf("confirm %.20s: %v", wrong, err)
		}
	}
}
