package seal_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/postbus/postbus/webhooks/internal/seal"
)

const zs = "WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlo=" // 32 times "Z".

func TestAKeyComesBackAsItWasConfigured(t *testing.T) {
	t.Parallel()
	made := newKey(t, "2027-01_a")
	for _, text := range []string{made.Reveal(), "k:" + zs, strings.Repeat("k", 32) + ":" + zs} {
		k, err := seal.ParseKey(text)
		if err != nil || k.Reveal() != text || k.ID() != text[:len(text)-45] {
			t.Errorf("%q comes back as %q with id %q, %v", text, k.Reveal(), k.ID(), err)
		}
	}
	if made.Reveal() == newKey(t, "2027-01_a").Reveal() {
		t.Error("two new keys are the same")
	}
}

func TestParseKeyRefusesWhatIsNoKey(t *testing.T) {
	t.Parallel()
	encode := func(size int) string { return base64.StdEncoding.EncodeToString([]byte(strings.Repeat("Z", size))) }
	for text, want := range map[string]string{
		"":                                    "sealing key is empty: configure",
		zs:                                    `has no id and ":" in front`,
		":" + zs:                              `what is before the ":" is no id`,
		zs + ":k1":                            `what is before the ":" is no id`,
		"k 1:" + zs:                           `what is before the ":" is no id`,
		"k.1:" + zs:                           `what is before the ":" is no id`,
		"ä:" + zs:                             `what is before the ":" is no id`,
		strings.Repeat("k", 33) + ":" + zs:    `what is before the ":" is no id`,
		"k1:":                                 `sealing key "k1" has 0 bytes, wanted are 32`,
		"k1:" + encode(31):                    `sealing key "k1" has 31 bytes, wanted are 32`,
		"k1:" + encode(33):                    `sealing key "k1" has 33 bytes, wanted are 32`,
		"k1:" + zs + "\n":                     `sealing key "k1" is not standard base64`,
		"k1: " + zs:                           `sealing key "k1" is not standard base64`,
		"k1:" + strings.TrimRight(zs, "="):    `sealing key "k1" is not standard base64`,
		"k1:" + zs[:42] + "p=":                `sealing key "k1" is not standard base64`,
		"k1:" + strings.Repeat("A", 43) + "=": `sealing key "k1" is all zeros`,
	} {
		k, err := seal.ParseKey(text)
		if err == nil || !strings.Contains(err.Error(), want) || k.Reveal() != "" {
			t.Errorf("ParseKey(%q): got %v, want %s", text, err, want)
		}
		if strings.Contains(fmt.Sprint(err), "Wlpa") {
			t.Errorf("the error holds a part of the key: %v", err)
		}
	}
	for _, id := range []string{"", "a:b", strings.Repeat("k", 33)} {
		if _, err := seal.NewKey(id); err == nil {
			t.Errorf("NewKey(%q) is taken", id)
		}
	}
}

// Nothing that prints, logs or encodes a key or a ring shows a key.
func TestKeysAndRingsAreHidden(t *testing.T) {
	t.Parallel()
	k, err := seal.ParseKey("k1:" + zs)
	if err != nil {
		t.Fatal(err)
	}
	r := newRing(t, k)
	type holder struct{ private seal.Key }
	for _, value := range []any{k, &k, []seal.Key{k}, holder{k}, r, *r, struct{ R *seal.Ring }{r}} {
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("key", "key", value)
		slog.New(slog.NewTextHandler(&log, nil)).Info("key", "key", value)
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		log.Write(encoded)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&log, verb, value)
		}
		for _, leak := range []string{"WlpaWlpa", "576c7061576c", "ZZZZZZ", "5a5a5a5a5a5a", "90 90 90", "0x5a, 0x5a"} {
			if strings.Contains(strings.ToLower(log.String()), strings.ToLower(leak)) {
				t.Errorf("%T shows %q: %s", value, leak, log.String())
			}
		}
	}
	if got, want := fmt.Sprintf("%v %+v %#v %s %d", k, k, k, k, k), strings.Repeat(" k1:…(hidden)", 5)[1:]; got != want {
		t.Errorf("a key prints as %s, want %s", got, want)
	}
}

// A key that is taken comes back as the text it was and seals; one that is refused is not shown.
func FuzzParseKey(f *testing.F) {
	for _, text := range []string{"k1:" + zs, zs, ":", zs + ":k1", "k1:" + zs + "\n", "k1:" + zs[:42] + "p=", zs[:16] + ":" + zs[:16]} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := seal.ParseKey(text)
		if err != nil {
			id, body, _ := strings.Cut(text, ":") // An id is shown, even one that looks like the key.
			if len(body) >= 16 && !strings.Contains(id, body) && strings.Contains(err.Error(), body) {
				t.Errorf("the error shows the key: %v", err)
			}
			return
		}
		if k.Reveal() != text {
			t.Errorf("%q comes back as %q", text, k.Reveal())
		}
		r := newRing(t, k)
		id, data := sealed(t, r)
		if got, err := r.Open(id, data, context); err != nil || string(got) != plain {
			t.Errorf("opened %q, %v", got, err)
		}
	})
}
