package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// keepAlive is how often a quiet live view is told that it is still connected.
const keepAlive = 20 * time.Second

func (s *Server) console(w http.ResponseWriter, r *http.Request) {
	tally, err := s.Publisher.Tally(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.page(w, http.StatusOK, "console.html", consolePage{Lines: s.Console.Lines(), Tally: tally})
}

// live sends the lines, as the page's own markup, whenever they change.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	changed, leave := s.Console.Watch()
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	quiet := time.NewTimer(keepAlive)
	defer quiet.Stop()
	for err := s.sendLines(w); err == nil; {
		if err = out.Flush(); err != nil {
			return
		}
		quiet.Reset(keepAlive)
		select {
		case <-r.Context().Done():
			return
		case <-s.Stopping.Done():
			return
		case <-changed:
			err = s.sendLines(w)
		case <-quiet.C:
			_, err = fmt.Fprint(w, ": still here\n\n")
		}
	}
}

func (s *Server) sendLines(w http.ResponseWriter) error {
	var buf bytes.Buffer
	if err := s.pages.ExecuteTemplate(&buf, "lines", s.Console.Lines()); err != nil {
		return err
	}
	raw, err := json.Marshal(buf.String()) // one line, whatever is in it
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "data: %s\n\n", raw)
	return err
}
