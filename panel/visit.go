package panel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/a-h/templ"

	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/panel/internal/view"
)

// visit is one look at a view.
type visit struct {
	p     *Panel
	r     *http.Request
	who   ops.Identity
	query url.Values
}

// content is what a view answers: a title, and what stands under it.
type content struct {
	title, here string
	body        templ.Component
}

// page makes a handler of a view: whole, or the one part that the page asks for.
func (p *Panel) page(show func(*visit) (content, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "a view is read with GET", http.StatusMethodNotAllowed)
			return
		}
		v, ok := p.visitor(w, r)
		if !ok {
			return
		}
		part := v.query.Get("part")
		v.query.Del("part")
		status := http.StatusOK
		shown, err := show(v)
		if err != nil {
			told := p.told(r, err)
			status = told.Code.Status()
			shown.title, shown.body = "Not shown", view.Problem(told)
			if text, gone := noMore(v.query, told.Code); gone && part != "" {
				p.fragment(w, r, http.StatusOK, view.Gone(part, text))
				return
			}
			if part != "" { // what stands stays, and the page says that it is old
				w.WriteHeader(status)
				return
			}
		}
		if part != "" {
			p.renderPart(w, r, shown.body, part)
			return
		}
		p.render(w, r, status, view.Layout(p.frame(v, shown)), shown.body)
	}
}

// visitor is who makes the request; where nobody is logged in it answers the request and false.
func (p *Panel) visitor(w http.ResponseWriter, r *http.Request) (*visit, bool) {
	who, ok := p.cfg.Auth.Who(r)
	if !ok {
		p.toLogin(w, r)
	}
	return &visit{p: p, r: r, who: who, query: r.URL.Query()}, ok
}

// frame is what stands around the content.
func (p *Panel) frame(v *visit, c content) view.Page {
	_, logsOut := p.cfg.Auth.(loginAuth)
	return view.Page{
		Title: c.title, Here: c.here, Who: v.who, Version: p.cfg.Version, LogsOut: logsOut, Alerts: p.alerts.count(v.r.Context(), v.who),
	}
}

// render writes a whole page: all of it or, where it cannot be made, none.
func (p *Panel) render(w http.ResponseWriter, r *http.Request, status int, layout, body templ.Component) {
	var out bytes.Buffer
	if err := layout.Render(templ.WithChildren(r.Context(), body), &out); err != nil {
		p.broken(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes())
}

func (p *Panel) renderPart(w http.ResponseWriter, r *http.Request, body templ.Component, part string) {
	var out bytes.Buffer
	if err := templ.RenderFragments(r.Context(), &out, body, part); err != nil {
		p.broken(w, r, err)
		return
	}
	if out.Len() == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(out.Bytes())
}

// broken is a page that could not be made.
func (p *Panel) broken(w http.ResponseWriter, r *http.Request, err error) {
	p.cfg.Log.ErrorContext(r.Context(), "a page of the panel could not be made", "path", r.URL.Path, "error", err)
	http.Error(w, "The page could not be made: the log of the process has why.", http.StatusInternalServerError)
}

// told is what the reader is told of an error.
func (p *Panel) told(r *http.Request, err error) *ops.Error {
	var told *ops.Error
	if errors.As(err, &told) {
		return told
	}
	p.cfg.Log.ErrorContext(r.Context(), "a view of the panel failed", "path", r.URL.Path, "error", err)
	return ops.Explain(err)
}

// do makes a call in the reader's name and answers what it answered.
func do[Out any](v *visit, operation string, input any) (out Out, err error) {
	raw, ok := input.(json.RawMessage)
	if !ok {
		if raw, err = json.Marshal(input); err != nil {
			return out, fmt.Errorf("%s: input: %w", operation, err)
		}
	}
	answer, err := v.p.cfg.Registry.Do(v.r.Context(), ops.Request{Operation: operation, Who: v.who, Face: ops.Panel, Input: raw})
	if err != nil {
		return out, err
	}
	out, ok = answer.Output.(Out)
	if !ok {
		return out, fmt.Errorf("%s answers a %T", operation, answer.Output)
	}
	return out, nil
}

// looks is how many pages in a row without an entry a view reads before it shows that it found none so far.
const looks = 20

// list makes the call of a list with what the URL asks for; names in but are the view's own. An operation looks at so many rows for
// a page, and where few match a page may have none of them and still lead on: list goes on, for a while.
func list[T any](v *visit, operation string, but ...string) (out ops.Listed[T], err error) {
	own := url.Values{}
	for name, values := range v.query {
		if !slices.Contains(but, name) {
			own[name] = values
		}
	}
	for range looks {
		if out, err = page[T](v, operation, own); err != nil || len(out.Items) > 0 || out.Next == "" {
			return out, err
		}
		own.Set("cursor", out.Next)
	}
	return out, nil
}

// page makes one call of a list.
func page[T any](v *visit, operation string, query url.Values) (out ops.Listed[T], err error) {
	o, ok := v.p.cfg.Registry.Get(operation)
	if !ok {
		return out, fmt.Errorf("there is no operation %q", operation)
	}
	input, err := inputOf(o.Input, query)
	if err != nil {
		return out, err
	}
	return do[ops.Listed[T]](v, operation, input)
}

// toLogin leads to the login page, or says that nobody is logged in.
func (p *Panel) toLogin(w http.ResponseWriter, r *http.Request) {
	if _, ok := p.cfg.Auth.(loginAuth); !ok {
		p.render(w, r, http.StatusUnauthorized, view.Layout(view.Page{Title: "Not logged in"}), view.Problem(&ops.Error{
			Code: ops.Unauthenticated, Message: "log in where this panel is mounted",
		}))
		return
	}
	to := "login"
	if name := r.URL.Path[lastSlash(r.URL.Path)+1:]; r.Method == http.MethodGet && name != "" && name != "live" {
		to += "?" + view.Q("to", name+query(r.URL)).Encode()
	}
	if r.Header.Get("HX-Request") != "" {
		w.Header().Set("HX-Redirect", to)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	redirect(w, to)
}

// redirect leads to a place relative to the one that was asked for. http.Redirect would make it absolute, which is wrong
// behind a proxy that strips a prefix.
func redirect(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}
