package search

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
)

const (
	maxDocBody  = 8 << 20 // of one document as JSON
	maxIDs      = 1000    // of one question to /lacking
	maxQueryLen = 1000
)

// Handler serves the API over an index.
func Handler(x *Index) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]int{"docs": x.Count()})
	})
	mux.HandleFunc("PUT /docs/{id}", x.servePut)
	mux.HandleFunc("DELETE /docs/{id}", x.serveDelete)
	mux.HandleFunc("GET /docs/{id}", func(w http.ResponseWriter, r *http.Request) {
		v, err := x.Get(r.PathValue("id"))
		reply(w, v, err)
	})
	mux.HandleFunc("POST /lacking", x.serveLacking)
	mux.HandleFunc("GET /search", x.serveSearch)
	return mux
}

func (x *Index) servePut(w http.ResponseWriter, r *http.Request) {
	var doc Doc
	if !decode(w, r, &doc) {
		return
	}
	doc.ID = r.PathValue("id")
	if doc.Version < 1 {
		refuse(w, "version must be 1 or more")
		return
	}
	applied, err := x.Put(r.Context(), doc)
	reply(w, map[string]bool{"applied": applied}, err)
}

func (x *Index) serveDelete(w http.ResponseWriter, r *http.Request) {
	version, err := strconv.ParseInt(r.FormValue("version"), 10, 64)
	if err != nil || version < 1 {
		refuse(w, "version must be 1 or more")
		return
	}
	applied, err := x.Delete(r.Context(), r.PathValue("id"), version)
	reply(w, map[string]bool{"applied": applied}, err)
}

func (x *Index) serveLacking(w http.ResponseWriter, r *http.Request) {
	var want []Version
	if !decode(w, r, &want) {
		return
	}
	if len(want) > maxIDs {
		refuse(w, "at most "+strconv.Itoa(maxIDs)+" ids at a time")
		return
	}
	answer(w, http.StatusOK, x.Lacking(want))
}

func (x *Index) serveSearch(w http.ResponseWriter, r *http.Request) {
	q := Query{Text: r.FormValue("q"), ID: r.FormValue("id")}
	q.Limit, _ = strconv.Atoi(r.FormValue("limit"))
	if len(q.Text) > maxQueryLen {
		refuse(w, "the text asked for is over "+strconv.Itoa(maxQueryLen)+" bytes")
		return
	}
	result, err := x.Search(r.Context(), q)
	reply(w, result, err)
}

func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxDocBody)).Decode(into)
	if err != nil {
		refuse(w, "read the body: "+err.Error())
	}
	return err == nil
}

func reply(w http.ResponseWriter, v any, err error) {
	switch {
	case err == nil:
		answer(w, http.StatusOK, v)
	case errors.Is(err, ErrNotFound):
		fail(w, http.StatusNotFound, err.Error())
	case errors.Is(err, ErrUnavailable), errors.Is(err, context.Canceled):
		fail(w, http.StatusServiceUnavailable, err.Error())
	default:
		fail(w, http.StatusInternalServerError, err.Error())
	}
}

func refuse(w http.ResponseWriter, why string) { fail(w, http.StatusBadRequest, why) }

func fail(w http.ResponseWriter, status int, why string) {
	answer(w, status, map[string]string{"error": why})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the caller has gone: nothing to do about it
}
