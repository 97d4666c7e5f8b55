package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/postbus/postbus/examples/notebook/mailing"
	"github.com/postbus/postbus/examples/notebook/note"
	"github.com/postbus/postbus/examples/notebook/search"
)

// wantsJSON tells a program from a browser.
func wantsJSON(r *http.Request) bool {
	return isJSON(r.Header.Get("Content-Type")) || r.Method == http.MethodPut || r.Method == http.MethodDelete ||
		strings.Contains(r.Header.Get("Accept"), "application/json")
}

// statusOf is the one place where errors become statuses.
func statusOf(err error) int {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, note.ErrInvalid), errors.Is(err, errBadInput), errors.Is(err, search.ErrRefused), errors.Is(err, mailing.ErrInvalid):
		return http.StatusBadRequest
	case errors.Is(err, note.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, search.ErrUnavailable):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, said := statusOf(err), err.Error()
	if status == http.StatusInternalServerError {
		s.Log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "error", err)
		said = "something went wrong here; the log has the details"
	}
	if wantsJSON(r) {
		answer(w, status, map[string]string{"error": said})
		return
	}
	s.page(w, status, "error.html", errorPage{Status: status, Text: said})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the caller has gone: nothing to do about it
}

// page renders whole before it sends, so that a page is never half there.
func (s *Server) page(w http.ResponseWriter, status int, name string, data any) {
	var buf bytes.Buffer
	if err := s.pages.ExecuteTemplate(&buf, name, data); err != nil {
		s.Log.Error("render "+name, "error", err)
		http.Error(w, "the page could not be rendered", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(buf.Bytes())
}
