package web

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/postbus/postbus/examples/notebook/note"
	"github.com/postbus/postbus/examples/notebook/search"
)

// found is what a search answers: the index's hits, each with the note as it stands.
type found struct {
	Total   uint64 `json:"total"`
	Hits    []hit  `json:"hits"`
	Problem string `json:"-"`
}

type hit struct {
	Note  note.Note     `json:"note"`
	Score float64       `json:"score"`
	Title []search.Span `json:"title"`
	Body  []search.Span `json:"body"`
}

// search is the JSON answer; the page of the same is at /?q=.
func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	limit, err := strconv.Atoi(r.FormValue("limit"))
	if err != nil || limit < 1 {
		limit = 20
	}
	result, err := s.find(r, strings.TrimSpace(r.FormValue("q")), min(limit, 100))
	if err != nil {
		answer(w, statusOf(err), map[string]string{"error": err.Error()})
		return
	}
	answer(w, http.StatusOK, result)
}

// find leaves out hits whose note is gone: its removal from the index is on its way.
func (s *Server) find(r *http.Request, text string, limit int) (*found, error) {
	out := &found{Hits: []hit{}}
	if text == "" {
		return out, nil
	}
	result, err := s.Search.Search(r.Context(), search.Query{Text: text, Limit: limit})
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(result.Hits))
	for i, h := range result.Hits {
		ids[i] = h.ID
	}
	notes, err := s.Notes.ByIDs(r.Context(), s.Owner, ids)
	if err != nil {
		return nil, err
	}
	out.Total = result.Total
	for _, h := range result.Hits {
		if n, ok := notes[h.ID]; ok {
			out.Hits = append(out.Hits, hit{Note: n, Score: h.Score, Title: h.Title, Body: h.Body})
		}
	}
	return out, nil
}
