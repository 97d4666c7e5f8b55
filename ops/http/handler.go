package opshttp

import (
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/postbus/postbus/ops"
)

const (
	versionPath  = "/v1/"
	documentPath = "/openapi.json"
)

// Config says how the operations are served.
type Config struct {
	// Prefix is the path below which all is served. Defaults to "/api"; "/" is the root.
	Prefix string
	// Title heads the OpenAPI document. Defaults to "Postbus".
	Title string
	// Version is the program's, for the OpenAPI document. Defaults to "dev".
	Version string
	// Timeout is how long a request may take, its body included. Defaults to 30 seconds.
	Timeout time.Duration
	// Log gets failures of ours, with the request's id. Defaults to slog.Default().
	Log *slog.Logger
}

// face serves the operations of a registry.
type face struct {
	reg      *ops.Registry
	auth     Authenticate
	cfg      Config
	document []byte
}

// New serves every operation of reg; auth says who calls.
func New(reg *ops.Registry, auth Authenticate, cfg Config) (http.Handler, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if reg == nil || auth == nil {
		return nil, fmt.Errorf("opshttp: the registry or Authenticate is missing; Bearer makes one of a check of tokens")
	}
	f := &face{reg: reg, auth: auth, cfg: cfg}
	mux := http.NewServeMux()
	api := humago.NewWithPrefix(mux, cfg.Prefix, huma.Config{OpenAPI: newDocument(cfg)})
	for _, o := range reg.All() {
		described := describe(api.OpenAPI(), o)
		api.OpenAPI().AddOperation(described)
		api.Adapter().Handle(described, func(c huma.Context) {
			r, w := humago.Unwrap(c)
			f.call(w, r, o)
		})
	}
	if f.document, err = api.OpenAPI().MarshalJSON(); err != nil {
		return nil, fmt.Errorf("opshttp: write the OpenAPI document: %w", err)
	}
	mux.HandleFunc("GET "+cfg.Prefix+documentPath, f.serveDocument)
	mux.HandleFunc("/", f.nowhere)
	return f.guarded(mux), nil
}

var sanePrefix = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$`)

func (c Config) withDefaults() (Config, error) {
	if c.Prefix == "" {
		c.Prefix = "/api"
	}
	c.Prefix = strings.TrimSuffix(c.Prefix, "/")
	if !sanePrefix.MatchString(c.Prefix) {
		return c, fmt.Errorf(`opshttp: Prefix %q is no path like "/api"`, c.Prefix)
	}
	if c.Timeout < 0 {
		return c, fmt.Errorf("opshttp: Timeout is %s; leave it out for 30s", c.Timeout)
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.Title == "" {
		c.Title = "Postbus"
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c, nil
}

func (f *face) serveDocument(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/openapi+json")
	_, _ = w.Write(f.document) // the caller is gone: nobody is left to tell
}

// nowhere answers what no operation is at: a method that is not served, or a name that is not known.
func (f *face) nowhere(w http.ResponseWriter, r *http.Request) {
	name, versioned := strings.CutPrefix(r.URL.Path, f.cfg.Prefix+versionPath)
	_, known := f.reg.Get(name)
	switch {
	case versioned && known:
		w.Header().Set("Allow", http.MethodPost)
		f.fail(w, r, refuse(http.StatusMethodNotAllowed, ops.Invalid, "%s is called with POST", name))
	case r.URL.Path == f.cfg.Prefix+documentPath:
		w.Header().Set("Allow", "GET, HEAD")
		f.fail(w, r, refuse(http.StatusMethodNotAllowed, ops.Invalid, "the OpenAPI document is read with GET"))
	case versioned:
		f.fail(w, r, refuse(http.StatusNotFound, ops.NotFound, "there is no operation %.80q; %s", name, f.hint(name)))
	default:
		f.fail(w, r, refuse(http.StatusNotFound, ops.NotFound, "there is nothing here; operations are at %s{name}, and %s lists them",
			f.cfg.Prefix+versionPath, f.cfg.Prefix+documentPath))
	}
}

// hint names the operations of the room that was asked for, or the document where there is no such room.
func (f *face) hint(name string) string {
	room, _, _ := strings.Cut(name, ".")
	var there []string
	for _, o := range f.reg.All() {
		if strings.HasPrefix(o.Name, room+".") {
			there = append(there, o.Name)
		}
	}
	if len(there) == 0 {
		return f.cfg.Prefix + documentPath + " lists them all"
	}
	return room + " has " + strings.Join(there, ", ")
}
