package opshttp_test

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/ops"
	opshttp "github.com/postbus/postbus/ops/http"
	"github.com/postbus/postbus/pg"
	"github.com/postbus/postbus/webhooks"
)

// hostileFor is about how long all operations together are attacked. HOSTILE_FOR=5m looks harder.
const hostileFor = 12 * time.Second

// leaks are what no answer holds. Outside of failures pgx may be a part of an id that was made by chance.
var (
	secrets = []string{sealingKey[3:], "pb_of-", "SQLSTATE", "postgres:"}
	leaks   = []string{
		"select ", "insert into", "delete from", " from postbus.", "pgx", "pgconn", "violates", "syntax error", "relation \"", "ERROR:",
		"goroutine ", ".go:",
	}
)

// No input makes a failure of ours or is answered with our SQL or our secrets. The inputs are made from the OpenAPI document: every
// operation that it has, every place of its input.
func TestHostileInput(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	endpoint, err := r.hooks.Create(t.Context(), webhooks.EndpointSpec{OwnerID: "ann", URL: "https://127.0.0.1:8443/x", Types: []string{"*"}})
	must(t, err)
	ids := &ids{known: []string{r.job(t, "ann"), r.job(t, ""), r.event(t), endpoint.ID, "1", "999999999"}}
	doc, _ := document(t, r.handler)
	paths := at(doc, "paths").(node)
	whole, values := bodies(), hostile()
	share := attackTime(t) / time.Duration(len(paths))
	for i, path := range sorted(paths) {
		name := strings.TrimPrefix(path, "/v1/")
		t.Run(name, func(t *testing.T) {
			a := &attack{
				T: t, rig: r, name: name, schema: at(paths[path], "post", "requestBody", "content", "application/json", "schema"),
				generator: &generator{Rand: rand.New(rand.NewPCG(4, uint64(i))), ids: ids},
			}
			a.malformed(whole)
			a.headers(time.Now().Add(share / 8))
			a.misplaced(slices.Clone(values), time.Now().Add(share/2))
			for end := time.Now().Add(share / 4); a.fitting < 10 || time.Now().Before(end); a.fitting++ {
				a.fits()
			}
			t.Logf("%d requests, %d of them fitting; %d answered", a.sent, a.fitting, a.answered)
		})
	}
}

func attackTime(t *testing.T) time.Duration {
	given := os.Getenv("HOSTILE_FOR")
	if given == "" {
		return hostileFor
	}
	long, err := time.ParseDuration(given)
	must(t, err)
	return long
}

// event records one and answers its id.
func (r *rig) event(t *testing.T) (id string) {
	t.Helper()
	must(t, pg.InTx(t.Context(), r.pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		id, err = r.bus.RecordReturning(ctx, tx, "ann", "note.changed", "note:1", map[string]int{"a": 1})
		return err
	}))
	return id
}

// attack is one operation's.
type attack struct {
	*testing.T
	*rig
	*generator
	name                    string
	schema                  any
	sent, fitting, answered int
}

func (a *attack) malformed(bodies []string) {
	for _, body := range bodies {
		a.send("pb_of-admin", body)
	}
	a.send("pb_of-admin", struct{ io.Reader }{io.LimitReader(endless{}, 10<<20)})
}

// misplaced puts hostile values in every place, until the end or until all were there, and six at least.
func (a *attack) misplaced(raws []json.RawMessage, end time.Time) {
	ways := places(a.schema)
	a.Shuffle(len(raws), func(i, j int) { raws[i], raws[j] = raws[j], raws[i] })
	for i, raw := range raws {
		if i >= 6 && time.Now().After(end) {
			return
		}
		for _, path := range ways {
			body, err := json.Marshal(a.with(a.schema, path, raw))
			must(a.T, err)
			a.send("pb_of-admin", string(body))
		}
	}
}

func (a *attack) headers(end time.Time) {
	texts := append([]string{strings.Repeat("x", 5000), "\xff"}, sql...)
	for i, text := range texts {
		if i >= 2 && time.Now().After(end) {
			return
		}
		for _, header := range []string{"Confirm", "Authorization", "Content-Type", "X-Request-Id"} {
			body, err := json.Marshal(a.object(a.schema))
			must(a.T, err)
			a.send("pb_of-admin", string(body), header, text)
		}
	}
}

// fits sends an input that fits the schema; what is destructive is done too.
func (a *attack) fits() {
	body, err := json.Marshal(a.object(a.schema))
	must(a.T, err)
	token := pick(a.generator, []string{"pb_of-admin", "pb_of-admin", "pb_of-ann"})
	rec := a.send(token, string(body))
	var answer struct {
		DryRun ops.DryRun `json:"dry_run"`
	}
	if json.Unmarshal(rec.Body.Bytes(), &answer) == nil && answer.DryRun.Confirm != "" {
		a.send(token, string(body), "Confirm", answer.DryRun.Confirm)
	}
}

// learn keeps the ids and cursors of an answer for inputs to come, of other operations too.
func (a *attack) learn(answer []byte) {
	var page struct {
		ID, Next string
		Items    []struct{ ID string }
	}
	_ = json.Unmarshal(answer, &page) // what has none is not learned from
	found := []string{page.ID, page.Next}
	if len(page.Items) > 0 {
		found = append(found, page.Items[0].ID)
	}
	for _, id := range found {
		if id != "" && len(a.ids.known) < 40 {
			a.ids.known = append(a.ids.known, id)
		} else if id != "" {
			a.ids.known[a.IntN(40)] = id
		}
	}
}

// send makes a request and holds the answer against what is promised.
func (a *attack) send(token string, body any, header ...string) *httptest.ResponseRecorder {
	a.Helper()
	reader, ok := body.(io.Reader)
	if text, isText := body.(string); isText {
		reader, ok = strings.NewReader(text), true
	}
	if !ok {
		a.Fatalf("%T is no body", body)
	}
	rec := post(a.T, a.handler, token, a.name, reader, header...)
	a.sent++
	if rec.Code == http.StatusOK {
		a.answered++
		a.learn(rec.Body.Bytes())
	}
	if fault := faultOf(rec); fault != "" {
		a.Errorf("%s: %s\nto %q %.600q\nanswer %d %.600s\nlog: %s", a.name, fault, header, body, rec.Code, rec.Body, lastLine(a.log.String()))
	}
	return rec
}

// faultOf says what is wrong with an answer to a hostile request, or "".
func faultOf(rec *httptest.ResponseRecorder) string {
	words := secrets
	if rec.Code != http.StatusOK {
		words = append(leaks, secrets...)
	}
	for _, leak := range words {
		if strings.Contains(rec.Body.String(), leak) {
			return "it leaks " + leak
		}
	}
	var p opshttp.Problem
	switch {
	case rec.Code >= 500:
		return "it is a failure of ours"
	case rec.Code == http.StatusOK && !json.Valid(rec.Body.Bytes()):
		return "it is not JSON"
	case rec.Code != http.StatusOK && (json.Unmarshal(rec.Body.Bytes(), &p) != nil || rec.Code < 400 || p.Status != rec.Code || p.Code == "" || p.Detail == ""):
		return "it is neither an answer nor a problem"
	}
	return ""
}

func lastLine(text string) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return all[len(all)-1]
}
