package web

import (
	"net/http"
	"net/url"
)

func (s *Server) publish(w http.ResponseWriter, r *http.Request)  { s.setPublic(w, r, true) }
func (s *Server) withdraw(w http.ResponseWriter, r *http.Request) { s.setPublic(w, r, false) }

// setPublic commits and answers at once: the webhook is on its way then, and the note's page says how far.
func (s *Server) setPublic(w http.ResponseWriter, r *http.Request, public bool) {
	n, err := s.Notes.Publish(r.Context(), s.Owner, r.PathValue("id"), public)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if wantsJSON(r) {
		answer(w, http.StatusOK, map[string]any{"note": n})
		return
	}
	back := "/notes/" + n.ID
	if r.PostFormValue("list") != "" { // the button of a list
		back = "/"
		if after := r.PostFormValue("after"); after != "" {
			back += "?after=" + url.QueryEscape(after)
		}
	}
	http.Redirect(w, r, back, http.StatusSeeOther)
}
