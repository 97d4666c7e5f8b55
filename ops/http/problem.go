package opshttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/postbus/postbus/ops"
)

const problemType = "application/problem+json"

// Problem is how a failure is answered: RFC 9457, with the code of ops and what is wrong with which field.
type Problem struct {
	Type   string           `json:"type" doc:"Always about:blank: code says what kind it is"`
	Title  string           `json:"title" doc:"The status in words"`
	Status int              `json:"status" doc:"The HTTP status"`
	Detail string           `json:"detail" doc:"What is wrong, with the limit and the way out"`
	Code   ops.Code         `json:"code" doc:"The kind of failure, the same on every face" enum:"invalid,unauthenticated,forbidden,not_found,conflict,too_large,rate_limited,unavailable,internal"`
	Errors []ops.FieldError `json:"errors,omitempty" doc:"What is wrong with which field of the input" nullable:"false"`
}

// refusal is an error of HTTP alone, with a status that no code of ops has.
type refusal struct {
	status int
	told   ops.Error
}

func (r *refusal) Error() string { return r.told.Message }

func refuse(status int, code ops.Code, format string, args ...any) error {
	return &refusal{status: status, told: ops.Error{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// fail answers with a problem, and logs what the caller is not told.
func (f *face) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	var known *ops.Error
	if p.Code == ops.Internal && !(errors.As(err, &known) && known.Logged()) {
		cause := err
		if under := errors.Unwrap(err); under != nil {
			cause = under
		}
		f.cfg.Log.ErrorContext(r.Context(), "request failed", "request_id", w.Header().Get(requestID), "path", r.URL.Path, "error", cause)
	}
	head := w.Header()
	switch p.Status {
	case http.StatusUnauthorized:
		challenge := `Bearer realm="postbus"`
		if r.Header.Get("Authorization") != "" {
			challenge += `, error="invalid_token"`
		}
		head.Set("WWW-Authenticate", challenge)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if after := retryAfter(err, p.Status); after > 0 {
			head.Set("Retry-After", strconv.Itoa(after))
		}
	}
	body, err := json.Marshal(p)
	if err != nil {
		f.cfg.Log.ErrorContext(r.Context(), "a problem cannot be written", "request_id", head.Get(requestID), "error", err)
	}
	head.Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // the caller is gone: nobody is left to tell
}

func problemOf(err error) Problem {
	var refused *refusal
	if errors.As(err, &refused) {
		return problem(refused.status, &refused.told)
	}
	told := ops.Explain(err)
	return problem(told.Code.Status(), told)
}

func problem(status int, told *ops.Error) Problem {
	return Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: told.Message, Code: told.Code, Errors: told.Fields,
	}
}

// retryAfter is in how many seconds to try again, 0 where nobody knows. An outage says one second: it may be over by then.
func retryAfter(err error, status int) int {
	var told *ops.Error
	if errors.As(err, &told) && told.RetryAfter > 0 {
		return told.RetryAfter
	}
	if status == http.StatusServiceUnavailable {
		return 1
	}
	return 0
}
