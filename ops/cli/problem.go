package opscli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/postbus/postbus/ops"
)

// problem reads an error of the API, application/problem+json. What is none, a proxy's page for instance, is told by its status.
func problem(res *http.Response, body []byte) error {
	var told struct {
		Code   ops.Code         `json:"code"`
		Detail string           `json:"detail"`
		Title  string           `json:"title"`
		Errors []ops.FieldError `json:"errors"`
	}
	_ = json.Unmarshal(body, &told) // what is missing is made up for
	e := &ops.Error{Code: told.Code, Message: told.Detail, Fields: told.Errors}
	e.RetryAfter, _ = strconv.Atoi(res.Header.Get("Retry-After")) // a date, which a proxy may send, is nobody's to act on
	if e.Code == "" {
		e.Code = codeOf(res.StatusCode)
	}
	if e.Message == "" {
		e.Message = told.Title
	}
	if e.Message == "" {
		e.Message = fmt.Sprintf("the server answered %s", res.Status)
	}
	return e
}

// codeOf is the code of a status, the other way round than ops.Code.Status.
func codeOf(status int) ops.Code {
	for _, code := range []ops.Code{
		ops.Invalid, ops.Unauthenticated, ops.Forbidden, ops.NotFound, ops.Conflict, ops.LeaseLost, ops.CancelAsked, ops.TooLarge, ops.RateLimited, ops.Unavailable,
	} {
		if code.Status() == status {
			return code
		}
	}
	if status == http.StatusBadRequest {
		return ops.Invalid
	}
	return ops.Internal
}
