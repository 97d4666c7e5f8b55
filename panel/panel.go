package panel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/postbus/postbus/ops"
)

// Config says what a panel shows and to whom.
type Config struct {
	// Registry has the operations that the panel calls.
	Registry *ops.Registry
	// Auth says who looks: Sessions with its login page, or the application's own.
	Auth Auth
	// Live tells what changes. Without one the page is as it was when it was loaded.
	Live *Live
	// Version is shown at the foot of the navigation.
	Version string
	// Log gets what the reader is not told. Defaults to slog.Default().
	Log *slog.Logger
}

// Auth says who makes a request. An application that mounts the panel behind its own login implements it in a few lines.
type Auth interface {
	// Who answers the person who makes the request, and false where nobody is logged in.
	Who(r *http.Request) (ops.Identity, bool)
}

// AuthFunc is a function as an Auth.
type AuthFunc func(r *http.Request) (ops.Identity, bool)

// Who calls f.
func (f AuthFunc) Who(r *http.Request) (ops.Identity, bool) { return f(r) }

// Panel is the handler. It reads only the last part of a request's path, so it may be mounted anywhere: behind
// http.StripPrefix, without it, or behind a proxy that does either. Its own address ends in a slash.
type Panel struct {
	cfg     Config
	routes  map[string]http.HandlerFunc
	assets  http.Handler
	alerts  *glance
	handler http.Handler
}

// loginAuth is an Auth with a login of its own.
type loginAuth interface {
	Auth
	loginPage(p *Panel, w http.ResponseWriter, r *http.Request)
	logout(w http.ResponseWriter, r *http.Request)
	wrap(next http.Handler) http.Handler
}

// New makes a panel.
func New(cfg Config) (*Panel, error) {
	if cfg.Registry == nil || cfg.Auth == nil {
		return nil, errors.New("panel: Config.Registry and Config.Auth are needed")
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	p := &Panel{cfg: cfg, assets: assets()}
	p.alerts = newGlance(p)
	p.routes = map[string]http.HandlerFunc{
		"":          p.page(p.overview),
		"overview":  p.page(p.overview),
		"jobs":      p.page(p.jobs),
		"acts":      p.page(p.acts),
		"periodics": p.page(p.periodics),
		"queues":    p.page(p.queues),
		"events":    p.page(p.events),
		"replays":   p.page(p.replays),
		"webhooks":  p.page(p.webhooks),
		"mail":      p.page(p.mail),
		"workers":   p.page(p.workers),
		"audit":     p.page(p.audit),
		"settings":  p.page(p.settings),
		"system":    p.page(p.system),
		"series":    p.series,
		"payload":   p.payload,
		"act":       p.act,
		"live":      p.live,
	}
	var handler http.Handler = http.HandlerFunc(p.route)
	if login, ok := cfg.Auth.(loginAuth); ok {
		p.routes["login"] = func(w http.ResponseWriter, r *http.Request) { login.loginPage(p, w, r) }
		p.routes["logout"] = login.logout
		handler = login.wrap(handler)
	}
	p.handler = http.NewCrossOriginProtection().Handler(p.guarded(handler))
	return p, nil
}

// ServeHTTP answers a request of the panel.
func (p *Panel) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

// route finds the view by the last part of the path.
func (p *Panel) route(w http.ResponseWriter, r *http.Request) {
	if at := strings.LastIndex(r.URL.Path, "/static/"); at >= 0 {
		r2 := r.Clone(r.Context())
		r2.URL.Path = r.URL.Path[at+len("/static"):]
		p.assets.ServeHTTP(w, r2)
		return
	}
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if handle, ok := p.routes[name]; ok {
		handle(w, r)
		return
	}
	p.page(func(*visit) (content, error) {
		return content{}, &ops.Error{Code: ops.NotFound, Message: fmt.Sprintf("the panel has no view %q; the navigation lists what there is", name)}
	})(w, r)
}

// policy lets a page load what the panel serves, and run nothing that stands in the page itself.
const policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// requestMayTake bounds a request, but for the live stream.
const requestMayTake = 20 * time.Second

// maxForm is how many bytes a form may have.
const maxForm = 2 << 20

// guarded puts the headers and limits of every answer around next.
func (p *Panel) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "same-origin")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if !strings.HasSuffix(r.URL.Path, "/live") {
			ctx, cancel := context.WithTimeout(r.Context(), requestMayTake)
			defer cancel()
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}
