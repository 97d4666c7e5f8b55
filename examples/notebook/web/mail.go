package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/postbus/postbus/examples/notebook/mailing"
)

// mailsShown is how many mails of a note its page shows.
const mailsShown = 5

// mail asks for a note to be mailed. The answer says that it was asked for: 202, "sending". Where the mail stands is read from
// GET /notes/{id}/mails.
func (s *Server) mail(w http.ResponseWriter, r *http.Request) {
	to := ""
	if isJSON(r.Header.Get("Content-Type")) {
		var asked struct{ To string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			s.fail(w, r, errors.Join(fmt.Errorf("%w: write {\"to\": \"ann@example.com\"}", errBadInput), err))
			return
		}
		to = asked.To
	} else {
		to = r.PostFormValue("to")
	}
	receipt, err := s.Mailer.Ask(r.Context(), r.PathValue("id"), to)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if wantsJSON(r) {
		w.Header().Set("Location", "/notes/"+r.PathValue("id")+"/mails")
		answer(w, http.StatusAccepted, receipt)
		return
	}
	http.Redirect(w, r, "/notes/"+r.PathValue("id"), http.StatusSeeOther)
}

// mails says where the latest mails of a note stand.
func (s *Server) mails(w http.ResponseWriter, r *http.Request) {
	receipts, err := s.Mailer.Latest(r.Context(), r.PathValue("id"), mailsShown)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	answer(w, http.StatusOK, map[string][]mailing.Receipt{"mails": receipts})
}
