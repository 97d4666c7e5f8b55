package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
)

// Ready means that it can work: beside a server that answers and refuses to write it cannot, and says why.
func TestNotReadyOnAStandby(t *testing.T) {
	t.Parallel()
	server := testdb.Server(t)
	pool, err := pgxpool.New(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	h := &health{pool: pool}
	becomes := func(status int, text string) {
		t.Helper()
		wait.Eventually(t, 20*time.Second, func() (bool, string) {
			w := httptest.NewRecorder()
			h.ready(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
			return w.Code == status && strings.Contains(w.Body.String(), text), w.Body.String()
		})
	}
	becomes(http.StatusOK, "ready")
	if err := server.RestartAsStandby(t.Context()); err != nil {
		t.Fatal(err)
	}
	becomes(http.StatusServiceUnavailable, "standby")
	if _, err := pool.Exec(t.Context(), `select pg_promote()`); err != nil {
		t.Fatal(err)
	}
	becomes(http.StatusOK, "ready")
}
