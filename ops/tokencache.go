package ops

import (
	"crypto/sha256"
	"sync"
	"time"
)

// tokenCache keeps what was answered about tokens for a while. It holds good tokens only, by their hash, and at most max.
type tokenCache struct {
	mu      sync.Mutex
	max     int
	entries map[[sha256.Size]byte]believed
}

type believed struct {
	who   Identity
	until time.Time
}

func (c *tokenCache) get(hash [sha256.Size]byte, now time.Time) (Identity, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, ok := c.entries[hash]
	return entry.who, ok && now.Before(entry.until)
}

func (c *tokenCache) put(hash [sha256.Size]byte, who Identity, now, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= c.max {
		c.makeRoom(now)
	}
	c.entries[hash] = believed{who: who, until: until}
}

// makeRoom drops what has ended, and any other where nothing has: it costs that token a query.
func (c *tokenCache) makeRoom(now time.Time) {
	for hash, entry := range c.entries {
		if !now.Before(entry.until) {
			delete(c.entries, hash)
		}
	}
	for hash := range c.entries {
		if len(c.entries) < c.max {
			return
		}
		delete(c.entries, hash)
	}
}
