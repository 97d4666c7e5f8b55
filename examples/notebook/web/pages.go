package web

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/postbus/postbus/examples/notebook/console"
	"github.com/postbus/postbus/examples/notebook/indexing"
	"github.com/postbus/postbus/examples/notebook/mailing"
	"github.com/postbus/postbus/examples/notebook/markdown"
	"github.com/postbus/postbus/examples/notebook/note"
	"github.com/postbus/postbus/examples/notebook/publishing"
)

// pageSize is how many notes a list shows.
const pageSize = 25

type homePage struct {
	Query   string
	Count   int64
	Notes   []note.Note
	After   string // the note after which this page begins
	Next    string // the note after which the next page begins
	Found   *found
	Deleted *receiptView
	Lines   []console.Line
	Tally   publishing.Tally
}

type notePage struct {
	Note    note.Note
	HTML    template.HTML // rendered by package markdown, which lets no raw HTML through
	Receipt *receiptView
	Webhook *publishing.Last // nil where the note never had one
	Mails   []mailing.Receipt
}

type consolePage struct {
	Lines []console.Line
	Tally publishing.Tally
}

type errorPage struct {
	Status int
	Text   string
}

// receiptView is a receipt on a page; Deleted says that it is that of a deletion.
type receiptView struct {
	indexing.Receipt
	Deleted bool
}

func (s *Server) home(w http.ResponseWriter, r *http.Request) {
	p := homePage{Query: strings.TrimSpace(r.FormValue("q")), After: r.FormValue("after"), Lines: s.Console.Lines()}
	status := http.StatusOK
	var err error
	if p.Count, err = s.Notes.Count(r.Context(), s.Owner); err != nil {
		s.fail(w, r, err)
		return
	}
	if p.Tally, err = s.Publisher.Tally(r.Context()); err != nil {
		s.fail(w, r, err)
		return
	}
	if p.Query != "" {
		if p.Found, err = s.find(r, p.Query, 50); err != nil {
			status, p.Found = statusOf(err), &found{Problem: err.Error()}
		}
	} else if err := s.list(r, &p); err != nil {
		s.fail(w, r, err)
		return
	}
	if id := r.FormValue("deleted"); id != "" {
		p.Deleted = s.receipt(r, id, true)
	}
	s.page(w, status, "home.html", p)
}

func (s *Server) list(r *http.Request, p *homePage) error {
	notes, err := s.Notes.List(r.Context(), s.Owner, r.FormValue("after"), pageSize+1)
	if len(notes) > pageSize {
		notes = notes[:pageSize]
		p.Next = notes[pageSize-1].ID
	}
	p.Notes = notes
	return err
}

func (s *Server) show(w http.ResponseWriter, r *http.Request) {
	n, err := s.Notes.Get(r.Context(), r.PathValue("id"))
	if err == nil && n.OwnerID != s.Owner {
		err = note.ErrNotFound
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if wantsJSON(r) {
		answer(w, http.StatusOK, n)
		return
	}
	html, err := markdown.HTML(n.Body, n.Title)
	if err != nil {
		s.fail(w, r, errors.Join(err, errBadInput))
		return
	}
	last, err := s.Publisher.Last(r.Context(), n.ID)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	mails, err := s.Mailer.Latest(r.Context(), n.ID, mailsShown)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.page(w, http.StatusOK, "note.html", notePage{Note: n, HTML: html, Receipt: s.receipt(r, n.ID, false), Webhook: last, Mails: mails})
}

// receipt reads the receipt that the address names, as it stands now; nil where it names none of this note.
func (s *Server) receipt(r *http.Request, id string, deleted bool) *receiptView {
	event := r.FormValue("receipt")
	if event == "" {
		return nil
	}
	receipt, ok := s.Receipts.Look(r.Context(), event, id)
	if !ok {
		return nil
	}
	return &receiptView{Receipt: receipt, Deleted: deleted}
}

// marks are what a glimpse of Markdown is easier to read without.
var marks = regexp.MustCompile("[#*`|~_=-]{2,}|[#*`|]|!?\\[|\\](?:\\([^)]*\\))?|<[^>]*>")

func funcs() template.FuncMap {
	return template.FuncMap{
		"ago": func(t time.Time) string { return ago(time.Since(t)) },
		"utc": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"tail": func(file string) string {
			dir, base := path.Split(file)
			return path.Join(path.Base(dir), base)
		},
		"glimpse": func(n note.Note) string {
			text := strings.Join(strings.Fields(marks.ReplaceAllString(n.Body, " ")), " ")
			return note.Shorten(strings.TrimSpace(strings.TrimPrefix(text, n.Title)), 140)
		},
	}
}

func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return time.Now().Add(-d).UTC().Format("2 Jan 2006")
}
