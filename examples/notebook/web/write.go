package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"

	"github.com/postbus/postbus/examples/notebook/indexing"
	"github.com/postbus/postbus/examples/notebook/note"
)

// written is the JSON answer to a write: the note as it stands, and its receipt.
type written struct {
	Note *note.Note `json:"note,omitempty"`
	indexing.Receipt
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	s.write(w, r, http.StatusCreated, func(d note.Draft) (note.Note, error) {
		return s.Notes.Create(r.Context(), s.Owner, d)
	})
}

func (s *Server) update(w http.ResponseWriter, r *http.Request) {
	s.write(w, r, http.StatusOK, func(d note.Draft) (note.Note, error) {
		return s.Notes.Update(r.Context(), s.Owner, r.PathValue("id"), d)
	})
}

// write commits first and waits for the receipt afterwards: what the index does never fails a write.
func (s *Server) write(w http.ResponseWriter, r *http.Request, status int, commit func(note.Draft) (note.Note, error)) {
	draft, err := draftOf(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	n, err := commit(draft)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	receipt := s.Receipts.Await(r.Context(), s.Owner, n.ID, n.Version)
	if wantsJSON(r) {
		w.Header().Set("Location", "/notes/"+n.ID)
		answer(w, status, written{Note: &n, Receipt: receipt})
		return
	}
	http.Redirect(w, r, "/notes/"+n.ID+receiptQuery(receipt, ""), http.StatusSeeOther)
}

func (s *Server) remove(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if err := s.Notes.Delete(r.Context(), s.Owner, id); err != nil {
		s.fail(w, r, err)
		return
	}
	receipt := s.Receipts.Await(r.Context(), s.Owner, id, 0)
	if wantsJSON(r) {
		answer(w, http.StatusOK, written{Receipt: receipt})
		return
	}
	http.Redirect(w, r, "/"+receiptQuery(receipt, id), http.StatusSeeOther)
}

// receiptQuery lets the page after a write show the receipt as it stands when it is looked at.
func receiptQuery(r indexing.Receipt, deleted string) string {
	v := url.Values{}
	if r.EventID != "" {
		v.Set("receipt", r.EventID)
	}
	if deleted != "" {
		v.Set("deleted", deleted)
	}
	if len(v) == 0 {
		return ""
	}
	return "?" + v.Encode()
}

// errBadInput is what cannot be read as a note.
var errBadInput = errors.New("bad input")

func draftOf(r *http.Request) (d note.Draft, err error) {
	if r.Method == http.MethodPut || isJSON(r.Header.Get("Content-Type")) {
		err = json.NewDecoder(r.Body).Decode(&d)
	} else if err = r.ParseForm(); err == nil {
		d = note.Draft{Title: r.PostForm.Get("title"), Body: r.PostForm.Get("body")}
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return d, err
	}
	if err != nil {
		return d, fmt.Errorf("%w: %w", errBadInput, err)
	}
	return d, nil
}

func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "application/json"
}
