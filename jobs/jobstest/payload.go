package jobstest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/jobs"
)

const maxArgsBytes = 1 << 20

func payloadCases() []Case {
	return []Case{
		{Topic: "payload", Name: "args-unchanged", run: argsUnchanged,
			Sentence: "A handler gets the JSON object as it was enqueued, up to key order and white space."},
		{Topic: "payload", Name: "marshalled-args", run: marshalledArgs,
			Sentence: "A json.RawMessage is stored as it is, anything else is marshalled by encoding/json."},
		{Topic: "payload", Name: "only-objects", run: onlyObjects,
			Sentence: "Args that are not a JSON object are ErrInvalid, and make nothing."},
		{Topic: "payload", Name: "unstorable-text-refused", run: unstorableTextRefused,
			Sentence: `Args with \u0000, a lone surrogate or broken UTF-8 are ErrInvalid at once, not a failure of the database later.`},
		{Topic: "payload", Name: "size-limit", run: sizeLimit,
			Sentence: "Args of up to 1 MiB are taken; larger ones are ErrInvalid, and the error says the limit."},
		{Topic: "payload", Name: "result", run: resultKept,
			Sentence: "What a handler says by SetResult is the job's Result once it completed, and forgotten where it did not."},
		{Topic: "payload", Name: "any-error-text", run: anyErrorText,
			Sentence: "Whatever bytes an error has, and however many, its attempt is recorded."},
	}
}

// exact decodes JSON without loss: numbers stay as they were written.
func (e *env) exact(raw json.RawMessage) any {
	e.Helper()
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		e.Errorf("args are no JSON: %v: %.200s", err, raw)
	}
	return v
}

func argsUnchanged(e *env) {
	p := e.probe(nil)
	i := e.startKinds(p.kind("plain"))
	for _, args := range []string{
		`{}`,
		`{"id": 9007199254740993, "min": -9223372036854775808, "max": 18446744073709551615, "price": 1.10, "tiny": 0.1}`,
		`{"z": {"y": [{"x": [[], {}, null, true, false]}]}, "a": "", "": "empty key"}`,
		`{"text": "naïve 日本語 🚌 \u00e9 \ud83d\ude8c <&> \" \\ \/ \b\f\n\r\t \\u0000", "ключ": "значение"}`,
	} {
		id := e.enqueue(i, "plain", json.RawMessage(args))
		want := e.exact(json.RawMessage(args))
		if diff := cmp.Diff(want, e.exact(p.next().Args)); diff != "" {
			e.Errorf("the handler got (-enqueued +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, e.exact(e.get(i, id).Args)); diff != "" {
			e.Errorf("Get answered (-enqueued +got):\n%s", diff)
		}
	}
}

func marshalledArgs(e *env) {
	p := e.probe(nil)
	i := e.startKinds(p.kind("plain"))
	type line struct {
		SKU string `json:"sku"`
		N   int64  `json:"n,omitempty"`
	}
	for want, args := range map[string]any{
		`{"sku": "a", "n": 9007199254740993}`: line{SKU: "a", N: 9007199254740993},
		`{"sku": "b"}`:                        &line{SKU: "b"},
		`{"k": [1, 2]}`:                       map[string][]int{"k": {1, 2}},
		`{"raw": 1.50}`:                       json.RawMessage(" {\"raw\":\n1.50} "),
	} {
		e.enqueue(i, "plain", args)
		if diff := cmp.Diff(e.exact(json.RawMessage(want)), e.exact(p.next().Args)); diff != "" {
			e.Errorf("%T (-want +got):\n%s", args, diff)
		}
	}
}

// refuses fails the case where the args are taken, alone or in a batch, or refused with anything but ErrInvalid.
func (e *env) refuses(i *instance, kind string, args any) error {
	e.Helper()
	_, err := i.Enqueue(e.ctx, kind, args, jobs.EnqueueOpts{})
	if !errors.Is(err, jobs.ErrInvalid) {
		e.Errorf("Enqueue of %.60q answered %v, want ErrInvalid", args, err)
	}
	batch := []jobs.EnqueueParams{{Kind: kind, Args: number(1)}, {Kind: kind, Args: args}}
	if _, err := i.EnqueueMany(e.ctx, batch); !errors.Is(err, jobs.ErrInvalid) {
		e.Errorf("EnqueueMany with %.60q answered %v, want ErrInvalid", args, err)
	}
	return err
}

func onlyObjects(e *env) {
	i := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("plain")}})
	for _, raw := range []string{`[]`, `"text"`, `1`, `true`, `null`, ``, `{`, `{"a":1}{"b":2}`, `{"a":1},`, `{'a':1}`} {
		e.refuses(i, "plain", json.RawMessage(raw))
	}
	for _, args := range []any{[]int{1}, "text", 7, make(chan int), map[string]any{"f": func() {}}} {
		e.refuses(i, "plain", args)
	}
	e.noneOf(i, "plain")
}

func unstorableTextRefused(e *env) {
	p := e.probe(nil)
	i := e.startKinds(p.kind("plain"))
	for _, raw := range []string{
		`{"a": "x\u0000y"}`, `{"x\u0000": 1}`, `{"a": ["\\\u0000"]}`, `{"a": "\ud800"}`, `{"a": "\udc00\ud800"}`, "{\"a\": \"\xff\"}",
	} {
		e.refuses(i, "plain", json.RawMessage(raw))
	}
	e.refuses(i, "plain", map[string]string{"a": "x\x00y"})
	e.noneOf(i, "plain")
	e.ends(i, e.enqueue(i, "plain", json.RawMessage(`{"a": "\\u0000 is six characters"}`)), jobs.Completed)
}

func sizeLimit(e *env) {
	p := e.probe(nil)
	i := e.startKinds(p.kind("large"))
	text := strings.Repeat("x", maxArgsBytes-len(`{"text":""}`))
	e.enqueue(i, "large", map[string]string{"text": text})
	if got := len(p.next().Args); got < maxArgsBytes {
		e.Errorf("the handler got %d bytes of %d", got, maxArgsBytes)
	}
	err := e.refuses(i, "large", map[string]string{"text": text + "x"})
	if err != nil && !strings.Contains(err.Error(), "1 MiB") && !strings.Contains(err.Error(), "1048576") {
		e.Errorf("the error does not say the limit: %.200v", err)
	}
	e.refuses(i, "large", json.RawMessage(`{"text":"`+text+`xx"}`))
	p.ran(1)
}

func anyErrorText(e *env) {
	texts := map[int]string{
		0: "nul \x00 in it", 1: "broken \xff UTF-8", 2: `\u0000 and \ud800 as text`, 3: "long " + strings.Repeat("é", 4<<20), 4: "",
	}
	p := e.probe(func(_ context.Context, r run) error { return errors.New(texts[numberIn(r.Args)]) })
	kind := p.kind("failing")
	kind.MaxAttempts = 1
	i := e.startKinds(kind)
	for n, id := range e.enqueueN(i, "failing", len(texts), jobs.EnqueueOpts{}) {
		job := e.ends(i, id, jobs.Discarded)
		start, _, _ := strings.Cut(texts[n], " ")
		if len(job.Errors) != 1 || !strings.HasPrefix(job.Errors[0].Error, start) {
			e.Errorf("error %d is recorded as %.200s", n, errorsOf(job))
		}
		if len(job.Errors) == 1 && len(job.Errors[0].Error) > maxArgsBytes {
			e.Errorf("error %d is kept with %d bytes, more than 1 MiB", n, len(job.Errors[0].Error))
		}
	}
}

func resultKept(e *env) {
	p := e.probe(func(ctx context.Context, r run) error {
		e.ok(jobs.SetResult(ctx, map[string]any{"run": r.N, "text": "a \u0000 b <c> 日本"}), "set the result")
		if r.N == 1 {
			return errors.New("not yet")
		}
		return nil
	})
	i := e.startKinds(p.kind("plain"))
	id := e.enqueue(i, "plain", number(1))
	if job := e.ends(i, id, jobs.Completed); job.Attempt != 2 {
		e.Errorf("ended at attempt %d, want 2", job.Attempt)
	}
	e.sameArgs("the result", json.RawMessage(`{"run": 2, "text": "a \u0000 b <c> 日本"}`), e.get(i, id).Result)
	if err := jobs.SetResult(e.ctx, 1); !errors.Is(err, jobs.ErrInvalid) {
		e.Errorf("SetResult outside of a handler answered %v, want ErrInvalid", err)
	}
}
