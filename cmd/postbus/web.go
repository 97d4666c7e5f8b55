package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/ops"
	opshttp "github.com/postbus/postbus/ops/http"
	opsmcp "github.com/postbus/postbus/ops/mcp"
)

// panelPath is where the Tasks panel is.
const panelPath = "/panel/"

// requestsMayTake is how long requests under way may go on after a SIGTERM.
const requestsMayTake = 5 * time.Second

// web is the HTTP server. It answers from the start on; the faces come when the bus runs.
type web struct {
	health  *health
	metrics http.Handler
	log     *slog.Logger
	faces   atomic.Pointer[http.Handler]
	server  http.Server
	runner  loop.Runner
	addr    string
}

// serve begins to answer at address.
func (w *web) serve(address string) error {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("%w: choose another address with --listen", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", w.health.alive)
	mux.HandleFunc("GET /readyz", w.health.ready)
	mux.Handle("GET /metrics", w.metrics)
	mux.HandleFunc("/", w.face)
	w.addr = ln.Addr().String()
	w.server = http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(w.log.Handler(), slog.LevelWarn),
	}
	w.runner.Name, w.runner.Log = "http server", w.log
	w.runner.Start(context.Background(), func(ctx context.Context) {
		if err := w.server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			w.log.ErrorContext(ctx, "the HTTP server ended", "address", w.addr, "error", err)
		}
	})
	return nil
}

// stop lets requests end, for a while.
func (w *web) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), requestsMayTake)
	defer cancel()
	if w.server.Shutdown(ctx) != nil {
		_ = w.server.Close() // what is left is cut off
	}
	w.runner.Stop()
}

// face hands a request to the faces, or says why there are none yet.
func (w *web) face(res http.ResponseWriter, r *http.Request) {
	if faces := w.faces.Load(); faces != nil {
		(*faces).ServeHTTP(res, r)
		return
	}
	body, _ := json.Marshal(opshttp.Problem{ // of texts and a number
		Type: "about:blank", Title: http.StatusText(http.StatusServiceUnavailable), Status: http.StatusServiceUnavailable,
		Detail: "not ready: " + w.health.reason(r.Context()), Code: ops.Unavailable,
	})
	res.Header().Set("Content-Type", "application/problem+json")
	res.Header().Set("Retry-After", "2")
	res.WriteHeader(http.StatusServiceUnavailable)
	_, _ = res.Write(body)
}

// open puts the faces of a registry in place, the panel under panelPath.
func (w *web) open(registry *ops.Registry, tokens *ops.Authenticator, panel http.Handler) error {
	auth := opshttp.Bearer(tokens.Token)
	api, err := opshttp.New(registry, auth, opshttp.Config{Version: version(), Log: w.log})
	if err != nil {
		return fmt.Errorf("make the HTTP API: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", api)
	mux.Handle("/mcp", opsmcp.New(registry, opsmcp.Config{Version: version(), Log: w.log}).Handler(auth))
	mux.Handle(panelPath, panel)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", strings.TrimPrefix(panelPath, "/")) // relative: a proxy may have put something before it
		w.WriteHeader(http.StatusSeeOther)
	})
	mux.Handle("GET /openapi.json", http.RedirectHandler("/api/openapi.json", http.StatusPermanentRedirect))
	var faces http.Handler = mux
	w.faces.Store(&faces)
	return nil
}
