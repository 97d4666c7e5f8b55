package jobstest

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// connsPerInstance is what pgxpool allows by default on a small machine: an adapter must do with it.
const connsPerInstance = 4

var errCut = errors.New("the instance's way to the database is cut")

// link is one instance's way to the database. It can be cut, mended and made deaf.
type link struct {
	deaf atomic.Bool

	mu    sync.Mutex
	cut   bool
	conns map[*linkConn]struct{}
}

// openLink answers a pool like base whose connections, and those made from its Config, all go through a new link.
func openLink(t testing.TB, base *pgxpool.Pool) (*link, *pgxpool.Pool) {
	t.Helper()
	l := &link{conns: map[*linkConn]struct{}{}}
	config := base.Config()
	config.MaxConns, config.MinConns = connsPerInstance, 0
	config.ConnConfig.TLSConfig, config.ConnConfig.Fallbacks = nil, nil
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return l.add(conn)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatalf("open an instance's pool: %v", err)
	}
	t.Cleanup(pool.Close)
	return l, pool
}

func (l *link) add(conn net.Conn) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return nil, errors.Join(errCut, conn.Close())
	}
	c := &linkConn{Conn: conn, link: l}
	l.conns[c] = struct{}{}
	return c, nil
}

// sever closes every connection, as the other side sees a killed process, and refuses new ones until mend.
func (l *link) sever() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for c := range l.conns {
		_ = c.Conn.Close()
	}
	clear(l.conns)
}

func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}

// linkConn is one connection through a link. Where the link is deaf it leaves NotificationResponse messages out of what
// the server says (PostgreSQL 15, 55.7: a type byte, a 32-bit length that counts itself, the body).
type linkConn struct {
	net.Conn
	link *link

	header int    // bytes of the length read so far; 0 also between messages
	inside bool   // within a message, after its type byte
	left   uint32 // the length while it is read, then the bytes of the body to come
	drop   bool   // the message is left out
}

func (c *linkConn) Close() error {
	c.link.mu.Lock()
	delete(c.link.conns, c)
	c.link.mu.Unlock()
	return c.Conn.Close()
}

// Read answers at least one byte, or an error.
func (c *linkConn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		kept := c.filter(p[:n])
		if kept > 0 || err != nil || len(p) == 0 {
			return kept, err
		}
	}
}

// filter moves what is kept to the front of p and answers how much that is.
func (c *linkConn) filter(p []byte) int {
	kept := 0
	for i := 0; i < len(p); {
		n := c.advance(p[i:])
		if !c.drop {
			kept += copy(p[kept:], p[i:i+n])
		}
		i += n
	}
	return kept
}

// advance takes the next bytes that belong together and answers how many they are.
func (c *linkConn) advance(p []byte) int {
	const lengthBytes = 4
	switch {
	case !c.inside:
		c.inside, c.header, c.left = true, 0, 0
		c.drop = p[0] == 'A' && c.link.deaf.Load()
		return 1
	case c.header < lengthBytes:
		c.left = c.left<<8 | uint32(p[0])
		c.header++
		if c.header == lengthBytes {
			c.left -= lengthBytes
			c.inside = c.left > 0
		}
		return 1
	default:
		n := min(int(c.left), len(p))
		c.left -= uint32(n)
		c.inside = c.left > 0
		return n
	}
}
