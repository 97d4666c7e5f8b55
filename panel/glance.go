package panel

import (
	"context"
	"sync"
	"time"

	"github.com/postbus/postbus/ops"
)

// glanceFor is how old the number of alerts in the navigation may be.
const glanceFor = 2 * time.Second

// glance keeps the number of alerts, so that not every page of every reader asks for it.
type glance struct {
	p *Panel

	mu    sync.Mutex
	n     int
	until time.Time
}

func newGlance(p *Panel) *glance { return &glance{p: p} }

// count is how many alerts stand, for those who may see them. One that cannot be had is no reason not to show a page.
func (g *glance) count(ctx context.Context, who ops.Identity) int {
	if who.Owner != "" || !who.May(ops.Read) {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Now().Before(g.until) {
		return g.n
	}
	answer, err := g.p.cfg.Registry.Do(ctx, ops.Request{Operation: "alerts.list", Who: who, Face: ops.Panel, Input: []byte(`{"limit":200}`)})
	if alerts, ok := answer.Output.(ops.Listed[ops.Alert]); ok && err == nil {
		g.n = len(alerts.Items)
	}
	g.until = time.Now().Add(glanceFor)
	return g.n
}
