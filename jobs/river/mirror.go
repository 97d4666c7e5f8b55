package river

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/jobs"
)

// mirror keeps the declarations of this process's kinds in the database, where callers in SQL and workers in any language are held
// to them.
type mirror struct {
	queries *riversql.Queries
	params  riversql.DeclareKindsParams
	ticker  loop.Ticker
}

const (
	touchEvery = 5 * time.Minute
	// maxWaits is for how many attempts a kind is asked for its backoff; beyond them the last wait stands.
	maxWaits = 50
)

func newMirror(app string, kinds map[string]*kind, queries *riversql.Queries, log *slog.Logger) *mirror {
	m := &mirror{queries: queries, params: riversql.DeclareKindsParams{App: app}}
	for _, k := range kinds {
		if strings.HasPrefix(k.Name, periodicPrefix) {
			continue // these have their own table
		}
		p := &m.params
		p.Names = append(p.Names, k.Name)
		p.Externals = append(p.Externals, k.External)
		p.Queues = append(p.Queues, k.Queue)
		p.MaxAttempts = append(p.MaxAttempts, int32(k.MaxAttempts))
		p.LeasesUs = append(p.LeasesUs, k.Timeout.Microseconds())
		p.Waits = append(p.Waits, waitsOf(k.Kind))
		p.Receipts = append(p.Receipts, k.Receipt)
	}
	m.ticker = loop.Ticker{Name: "kinds heartbeat", Interval: touchEvery, Log: log, Once: m.touch}
	return m
}

// waitsOf asks an external kind's backoff for the wait after each attempt, in microseconds.
func waitsOf(k jobs.Kind) string {
	if !k.External {
		return ""
	}
	waits := make([]string, min(k.MaxAttempts, maxWaits))
	for i := range waits {
		waits[i] = strconv.FormatInt(max(k.Backoff(i+1), 0).Microseconds(), 10)
	}
	return strings.Join(waits, ",")
}

// declare writes the declarations.
func (m *mirror) declare(ctx context.Context) error {
	if len(m.params.Names) == 0 {
		return nil
	}
	written, err := m.queries.DeclareKinds(ctx, m.params)
	if err != nil {
		return fmt.Errorf("declare kinds: %w", err)
	}
	for _, name := range m.params.Names {
		if !slices.Contains(written, name) {
			return fmt.Errorf("%w: kind %q is declared in SQL on this database: choose another name, or retire it there (select postbus.retire_kind(...))",
				jobs.ErrInvalid, name)
		}
	}
	return nil
}

func (m *mirror) touch(ctx context.Context) error {
	if err := m.queries.TouchKinds(ctx, riversql.TouchKindsParams{Names: m.params.Names}); err != nil {
		return fmt.Errorf("refresh kinds: %w", err)
	}
	return nil
}
