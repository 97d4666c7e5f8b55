package console

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/examples/notebook/indexing"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/jobs"
)

const (
	// every is the time between looks at the database.
	every = 500 * time.Millisecond
	// shown is how many of the latest events are shown.
	shown = 40
)

// Console watches the bus. Start it, and Stop it before the bus.
type Console struct {
	bus    *postbus.Bus
	ticker loop.Ticker
	print  func(Line)

	mu       sync.Mutex
	lines    []Line
	watchers map[chan struct{}]bool
	printed  map[string]bool // of the lines shown: those that were printed
}

// New makes a console. print, where it is not nil, gets each event once, when its job has ended.
func New(bus *postbus.Bus, print func(Line), log *slog.Logger) *Console {
	c := &Console{bus: bus, print: print, watchers: map[chan struct{}]bool{}}
	c.ticker = loop.Ticker{Name: "console", Interval: every, Once: c.look, Log: log}
	return c
}

// Start begins to look. It does not block.
func (c *Console) Start(ctx context.Context) { c.ticker.Start(ctx) }

// Stop ends the looks.
func (c *Console) Stop() { c.ticker.Stop() }

// Lines are the latest events, the newest first.
func (c *Console) Lines() []Line {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lines)
}

// Watch answers a channel that is told when the lines have changed, until leave is called.
func (c *Console) Watch() (changed <-chan struct{}, leave func()) {
	w := make(chan struct{}, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchers[w] = true
	return w, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watchers, w)
	}
}

func (c *Console) look(ctx context.Context) error {
	lines, err := Latest(ctx, c.bus, shown)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.printed == nil
	done := map[string]bool{}
	for _, l := range slices.Backward(lines) {
		if !l.Done() {
			continue
		}
		done[l.EventID] = true
		if c.print != nil && !first && !c.printed[l.EventID] {
			c.print(l)
		}
	}
	c.printed = done
	if !slices.Equal(lines, c.lines) {
		c.lines = lines
		for w := range c.watchers {
			select {
			case w <- struct{}{}:
			default:
			}
		}
	}
	return nil
}

// Latest reads the latest n events (at most 200) and their jobs.
func Latest(ctx context.Context, bus *postbus.Bus, n int) ([]Line, error) {
	page, err := bus.Events().List(ctx, events.Filter{Types: []string{indexing.Changed}, Limit: n})
	if err != nil {
		return nil, err
	}
	lines, err := Join(ctx, bus.Inspector(), page.Events)
	return lines, err
}

// Join reads the jobs of at most 200 events, given newest first.
func Join(ctx context.Context, inspector jobs.Inspector, page []events.Detail) ([]Line, error) {
	var ids []jobs.JobID
	for _, e := range page {
		if id := e.Fanout[indexing.Index]; id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	byID := map[jobs.JobID]jobs.Job{}
	if len(ids) > 0 {
		found, err := inspector.List(ctx, jobs.Filter{IDs: ids, Limit: len(ids)})
		if err != nil {
			return nil, err
		}
		for _, j := range found.Jobs {
			byID[j.ID] = j
		}
	}
	lines, taken := make([]Line, len(page)), map[jobs.JobID]bool{}
	for i, e := range page {
		var data struct{ Op string }
		_ = json.Unmarshal(e.Data, &data) // not ours to judge: shown without its operation
		lines[i] = lineOf(e, data.Op, byID)
		lines[i].Shared = lines[i].JobID != "" && taken[lines[i].JobID]
		taken[lines[i].JobID] = true
	}
	return lines, nil
}
