package web

import (
	"context"
	"embed"
	"html/template"
	"log/slog"
	"net/http"

	"github.com/postbus/postbus/examples/notebook/building"
	"github.com/postbus/postbus/examples/notebook/console"
	"github.com/postbus/postbus/examples/notebook/indexing"
	"github.com/postbus/postbus/examples/notebook/mailing"
	"github.com/postbus/postbus/examples/notebook/note"
	"github.com/postbus/postbus/examples/notebook/publishing"
	"github.com/postbus/postbus/examples/notebook/search"
)

//go:embed templates/*.html static/*
var files embed.FS

// Server serves one owner's notes.
type Server struct {
	Notes    *note.Store
	Search   *search.Client
	Receipts indexing.Receipts
	Console  *console.Console
	// Publisher knows where the published notes' webhooks stand.
	Publisher *publishing.Publisher
	// Mailer asks for notes to be mailed.
	Mailer *mailing.Mailer
	// Builds waits for builds of the site.
	Builds *building.Waiter
	// Panel is the Tasks panel, under PanelPath. It has a login of its own.
	Panel http.Handler
	Owner string
	Log   *slog.Logger
	// Stopping ends the live views, so that a server that shuts down need not wait for them.
	Stopping context.Context

	pages *template.Template
}

// PanelPath is where the Tasks panel is.
const PanelPath = "/panel/"

// maxForm bounds a write: a body in a form may be three times as long as it is.
const maxForm = 4 * note.MaxBody

// Handler answers everything. Call it once.
func (s *Server) Handler() (http.Handler, error) {
	pages, err := template.New("").Funcs(funcs()).ParseFS(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	s.pages = pages
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.home)
	mux.HandleFunc("POST /notes", s.create)
	mux.HandleFunc("GET /notes/{id}", s.show)
	mux.HandleFunc("POST /notes/{id}", s.update)
	mux.HandleFunc("PUT /notes/{id}", s.update)
	mux.HandleFunc("POST /notes/{id}/delete", s.remove)
	mux.HandleFunc("DELETE /notes/{id}", s.remove)
	mux.HandleFunc("POST /notes/{id}/publish", s.publish)
	mux.HandleFunc("POST /notes/{id}/withdraw", s.withdraw)
	mux.HandleFunc("POST /notes/{id}/mail", s.mail)
	mux.HandleFunc("GET /notes/{id}/mails", s.mails)
	mux.HandleFunc("GET /site", s.site)
	mux.HandleFunc("GET /site/{id}", s.sitePage)
	mux.HandleFunc("GET /builds", s.builds)
	mux.HandleFunc("GET /search", s.search)
	mux.HandleFunc("GET /console", s.console)
	mux.HandleFunc("GET /console/live", s.live)
	mux.Handle("GET /static/", http.FileServerFS(files))
	mux.Handle(PanelPath, s.Panel)
	return http.NewCrossOriginProtection().Handler(guarded(mux)), nil
}

// guarded bounds what is read and says to the browser what a page may do: nothing but what comes from here.
func guarded(next http.Handler) http.Handler {
	const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		next.ServeHTTP(w, r)
	})
}
