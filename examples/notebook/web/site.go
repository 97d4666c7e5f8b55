package web

import (
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"time"

	"github.com/postbus/postbus/examples/notebook/building"
	"github.com/postbus/postbus/examples/notebook/note"
)

// sitePages is how many pages the site's first one lists.
const sitePages = 1000

type sitePage struct {
	Pages  []note.Page
	Page   note.Page
	HTML   template.HTML
	Assets []string
}

// site lists the pages that are served.
func (s *Server) site(w http.ResponseWriter, r *http.Request) {
	pages, err := s.Notes.Pages(r.Context(), s.Owner, sitePages)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.page(w, http.StatusOK, "site.html", sitePage{Pages: pages})
}

// sitePage serves a page as the builder rendered it: raw HTML in a note is text there.
func (s *Server) sitePage(w http.ResponseWriter, r *http.Request) {
	page, assets, err := s.Notes.Page(r.Context(), s.Owner, r.PathValue("id"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.page(w, http.StatusOK, "sitepage.html", sitePage{Page: page, HTML: template.HTML(page.HTML), Assets: assets})
}

// builds answers the builds behind ?after=, and with ?wait= (30s, 1m) waits for one where there is none yet. Over the cap of those that
// wait it answers at once: the caller asks again.
func (s *Server) builds(w http.ResponseWriter, r *http.Request) {
	after, wait := int64(0), time.Duration(0)
	var err error
	if text := r.FormValue("after"); text != "" {
		if after, err = strconv.ParseInt(text, 10, 64); err != nil || after < 0 {
			s.fail(w, r, fmt.Errorf("%w: after is %q; give the id of the last build that you have", errBadInput, text))
			return
		}
	}
	if text := r.FormValue("wait"); text != "" {
		if wait, err = time.ParseDuration(text); err != nil || wait < 0 || wait > building.MaxWait {
			s.fail(w, r, fmt.Errorf("%w: wait is %q; use 0s to %s", errBadInput, text, building.MaxWait))
			return
		}
	}
	builds, err := s.Builds.Wait(r.Context(), s.Owner, after, wait)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if builds == nil {
		builds = []note.Build{}
	}
	answer(w, http.StatusOK, map[string]any{"builds": builds})
}
