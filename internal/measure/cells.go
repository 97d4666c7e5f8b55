package measure

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

const (
	// maxCells is how many counts wait for a flush at most: hours of them.
	maxCells = 10_000
	// keep is how long the table has a minute.
	keep = 30 * 24 * time.Hour
)

// key names one row of the table.
type key struct {
	minute int64 // since 1970
	series series
	label  string
}

// cell is what is to be added to a row.
type cell struct {
	n int64
	Histogram
}

// cells are the counts since the last flush.
type cells struct {
	mu    sync.Mutex
	held  map[key]*cell
	kinds map[string]bool
	lost  int64 // counts that did not fit
}

func newCells() *cells { return &cells{held: map[key]*cell{}, kinds: map[string]bool{}} }

// minuteOf is the minute of a moment; of one that the table would not keep, or that is yet to come, it is none.
func minuteOf(at, now time.Time) (minute int64, ok bool) {
	if at.After(now) { // another clock
		at = now
	}
	return at.Unix() / 60, now.Sub(at) < keep
}

// at answers the cell to add n to, or nil where there is no room. The lock must be held.
func (c *cells) at(k key, n int64) *cell {
	if there, ok := c.held[k]; ok {
		there.n += n
		return there
	}
	if len(c.held) >= maxCells {
		c.lost += n
		return nil
	}
	fresh := &cell{n: n}
	c.held[k] = fresh
	return fresh
}

// count adds one, with its latency where that is known. The lock must be held.
func (c *cells) count(k key, latency time.Duration) {
	if in := c.at(k, 1); in != nil && latency >= 0 {
		in.add(latency)
	}
}

// label is the kind, or what stands for all kinds beyond the limit. The lock must be held.
func (c *cells) label(kind string) string {
	if c.kinds[kind] {
		return kind
	}
	if len(c.kinds) >= maxKinds {
		return otherKinds
	}
	c.kinds[kind] = true
	return kind
}

// entry is a key with its cell.
type entry struct {
	key
	*cell
}

// take empties the cells. The entries come in the order of the table's key.
func (c *cells) take() (all []entry, lost int64) {
	c.mu.Lock()
	held := c.held
	c.held, lost, c.lost = map[key]*cell{}, c.lost, 0
	c.mu.Unlock()
	for k, in := range held {
		all = append(all, entry{k, in})
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(names[a.series], names[b.series]), cmp.Compare(a.label, b.label), cmp.Compare(a.minute, b.minute))
	})
	return all, lost
}

// putBack adds what could not be flushed to what was counted meanwhile.
func (c *cells) putBack(all []entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range all {
		if in := c.at(e.key, e.n); in != nil {
			in.merge(&e.Histogram)
		}
	}
}
