package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/pg"
)

// pingWithin is how long the database may take to answer before the process counts as not ready.
const pingWithin = 2 * time.Second

// health is what /healthz and /readyz tell.
type health struct {
	pool *pgxpool.Pool

	mu  sync.Mutex
	why string // why it is not ready, "" when it is
}

func (h *health) set(why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.why = why
}

// reason is why it is not ready, or "".
func (h *health) reason(ctx context.Context) string {
	h.mu.Lock()
	why := h.why
	h.mu.Unlock()
	if why != "" {
		return why
	}
	ctx, cancel := context.WithTimeout(ctx, pingWithin)
	defer cancel()
	standby, err := pg.IsStandby(ctx, h.pool)
	switch {
	case err != nil:
		return "the database does not answer: " + innermost(err)
	case standby:
		return "the database's server is a standby and takes no writes"
	}
	return ""
}

// alive answers as long as the process runs.
func (h *health) alive(w http.ResponseWriter, _ *http.Request) {
	_, _ = fmt.Fprintln(w, "ok")
}

// ready answers 200 when events are relayed and the API works, else 503 and why not.
func (h *health) ready(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if why := h.reason(r.Context()); why != "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintln(w, "not ready:", why)
		return
	}
	_, _ = fmt.Fprintln(w, "ready")
}
