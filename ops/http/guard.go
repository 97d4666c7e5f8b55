package opshttp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"runtime/debug"
)

const requestID = "X-Request-Id"

var saneID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// guarded puts the headers and limits of every answer around next, and turns its panics into problems.
func (f *face) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(requestID)
		if !saneID.MatchString(id) {
			id = rand.Text()
		}
		head := w.Header()
		head.Set(requestID, id)
		head.Set("Cache-Control", "no-store")
		head.Set("X-Content-Type-Options", "nosniff")
		ctx, cancel := context.WithTimeout(r.Context(), f.cfg.Timeout)
		defer cancel()
		defer func() {
			fault := recover()
			if fault == nil {
				return
			}
			if err, ok := fault.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(fault)
			}
			f.fail(w, r, fmt.Errorf("panic: %v\n%s", fault, debug.Stack()))
		}()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
