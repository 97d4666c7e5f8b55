package sign_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/postbus/postbus/webhooks/internal/sign"
)

// Nothing that prints, logs or encodes a key shows it.
func TestKeysAreHidden(t *testing.T) {
	t.Parallel()
	for shown, k := range map[string]sign.Key{
		"whsec_…(hidden)": key(t, vectorSecret),
		"whsk_…(hidden)":  key(t, vectorPrivate),
	} {
		type holder struct {
			Name string
			Key  sign.Key
		}
		for _, value := range []any{k, []sign.Key{k}, map[string]sign.Key{"k": k}, holder{"k", k}, &holder{"k", k}} {
			for what, out := range written(t, value) {
				if !strings.Contains(out, shown) && !strings.HasPrefix(what, "%") {
					t.Errorf("%s of %T does not say %s: %s", what, value, shown, out)
				}
				for _, leak := range []string{"MfKQ9r8G", "6Xb/dCcH", "4d664b51", "3658622f", "77 102 75 81"} {
					if strings.Contains(strings.ToLower(out), strings.ToLower(leak)) {
						t.Errorf("%s of %T shows %s: %s", what, value, leak, out)
					}
				}
			}
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T %[1]v"} {
			if out := fmt.Sprintf(verb, k); !strings.Contains(out, shown) {
				t.Errorf("%s gives %s", verb, out)
			}
		}
	}
}

// written gives value in every way it may end up in a log or an answer.
func written(t *testing.T, value any) map[string]string {
	t.Helper()
	out := map[string]string{"error": fmt.Errorf("with %v", value).Error()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		out[verb] = fmt.Sprintf(verb, value)
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	out["encoding/json"] = string(encoded)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("key", "key", value)
	out["slog JSON"] = log.String()
	log.Reset()
	slog.New(slog.NewTextHandler(&log, nil)).Info("key", "key", value)
	out["slog text"] = log.String()
	return out
}
