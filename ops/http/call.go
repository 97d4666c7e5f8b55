package opshttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/postbus/postbus/internal/tracing"
	"github.com/postbus/postbus/ops"
)

// call makes one call of an operation.
func (f *face) call(w http.ResponseWriter, r *http.Request, o *ops.Operation) {
	answer, err := f.do(w, r, o)
	if err != nil {
		f.fail(w, r, err)
		return
	}
	body, err := encode(answer)
	if err != nil {
		f.fail(w, r, fmt.Errorf("encode the answer of %s: %w", o.Name, err))
		return
	}
	w.Header().Set("Content-Type", jsonType)
	_, _ = w.Write(body) // the caller is gone: nobody is left to tell
}

func (f *face) do(w http.ResponseWriter, r *http.Request, o *ops.Operation) (ops.Answer, error) {
	who, err := f.auth(r)
	if err != nil {
		return ops.Answer{}, err
	}
	req := ops.Request{Operation: o.Name, Who: who, Face: ops.HTTP, ID: w.Header().Get(requestID), Confirm: strings.TrimSpace(r.Header.Get("Confirm"))}
	if who.Name != "" { // the registry refuses the others, who need not send their body first
		if req.Input, err = f.input(w, r); err != nil {
			return ops.Answer{}, err
		}
	}
	// What the call records belongs to the caller's trace, as what is recorded in Go belongs to the trace of its context.
	return f.reg.Do(tracing.Join(r.Context(), r.Header.Get("Traceparent")), req)
}

func encode(answer ops.Answer) ([]byte, error) {
	if answer.DryRun != nil {
		return json.Marshal(dryRunAnswer{DryRun: *answer.DryRun})
	}
	return json.Marshal(answer.Output)
}

// dryRunAnswer is what a destructive operation answers without a confirmation.
type dryRunAnswer struct {
	DryRun ops.DryRun `json:"dry_run"`
}

const jsonType = "application/json"

// input reads the body. Whether it is JSON that can be meant is checked by the registry.
func (f *face) input(w http.ResponseWriter, r *http.Request) (json.RawMessage, error) {
	tooLarge := refuse(http.StatusRequestEntityTooLarge, ops.TooLarge, "the input is larger than the limit of %d bytes", ops.MaxInput)
	if r.ContentLength > ops.MaxInput {
		return nil, tooLarge
	}
	given := r.Header.Get("Content-Type")
	if given != "" && !isJSON(given) || r.Header.Get("Content-Encoding") != "" {
		return nil, notJSON()
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(f.cfg.Timeout)) // a writer that cannot is not a network's
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, ops.MaxInput))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, refuse(http.StatusRequestTimeout, ops.Invalid, "the input did not come within %s", f.cfg.Timeout)
	case err != nil:
		return nil, refuse(http.StatusBadRequest, ops.Invalid, "the input broke off after %d bytes", len(body))
	case given == "" && len(body) > 0:
		return nil, notJSON()
	}
	_ = control.SetReadDeadline(time.Time{})
	return body, nil
}

func notJSON() error {
	return refuse(http.StatusUnsupportedMediaType, ops.Invalid, "the input is JSON as it is: send Content-Type: %s and no Content-Encoding", jsonType)
}

// isJSON takes application/json and what is JSON by its suffix, such as application/merge-patch+json.
func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == jsonType || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json"))
}
