package hidden_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/postbus/postbus/webhooks/internal/hidden"
)

type token struct{ hidden.Value }

// A struct that nobody taught to hide holds it in a private field, where fmt calls no method.
type holder struct{ inner token }

func TestAPrivateFieldStaysHidden(t *testing.T) {
	t.Parallel()
	h := holder{inner: token{hidden.New("tok_…", "ABBA")}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		out := fmt.Sprintf(verb, h)
		for _, leak := range []string{"ABBA", "41424241", "65 66 66 65"} {
			if strings.Contains(out, leak) {
				t.Errorf("%s shows the secret: %s", verb, out)
			}
		}
	}
}

func TestRevealIsTheOnlyWayOut(t *testing.T) {
	t.Parallel()
	v := token{hidden.New("tok_…", "ABBA")}
	if got := v.Reveal(); got != "ABBA" {
		t.Errorf("Reveal() = %q", got)
	}
	out, err := json.Marshal(map[token]any{v: v})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(out), `{"tok_…(hidden)":"tok_…(hidden)"}`; got != want {
		t.Errorf("JSON is %s, want %s", got, want)
	}
}

func TestTheZeroValueHoldsNothing(t *testing.T) {
	t.Parallel()
	var v hidden.Value
	if v.Reveal() != "" || v.String() != "(hidden)" || fmt.Sprint(v) != "(hidden)" {
		t.Errorf("the zero Value shows %q and reveals %q", v.String(), v.Reveal())
	}
}
