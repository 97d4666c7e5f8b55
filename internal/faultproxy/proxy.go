package faultproxy

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/postbus/postbus/internal/loop"
)

// Proxy passes connections on to a Postgres until it is told otherwise.
// Its methods may be called from several goroutines.
type Proxy struct {
	target   string
	plain    bool // not Postgres: bytes are passed on as they come
	listener net.Listener
	accept   loop.Runner

	mu      sync.Mutex
	flow    *sync.Cond // signals a change of the fields below
	held    bool
	deaf    bool
	refuse  bool
	delay   time.Duration
	rate    int // bytes a second in each direction of a link; 0 is as fast as they come
	closed  bool
	waits   int // directions of links that hold something back
	refused int
	dropped int
	links   map[*link]struct{}
}

// New starts a proxy to a host:port. It ends with the test.
func New(t testing.TB, target string) *Proxy {
	t.Helper()
	p, err := Open(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Open starts a proxy to the Postgres at a host:port. Close ends it.
func Open(target string) (*Proxy, error) { return open(target, false) }

// OpenPlain starts a proxy for any protocol over TCP, in which there are no notifications to drop.
func OpenPlain(target string) (*Proxy, error) { return open(target, true) }

func open(target string, plain bool) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("faultproxy: %w", err)
	}
	p := &Proxy{target: target, plain: plain, listener: listener, links: map[*link]struct{}{}}
	p.flow = sync.NewCond(&p.mu)
	p.accept.Start(context.Background(), p.serve)
	return p, nil
}

// ForURL starts a proxy to the server of a postgres:// URL and returns the URL that leads through
// the proxy to the same database.
func ForURL(t testing.TB, address string) (p *Proxy, through string) {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatalf("faultproxy: %v", err)
	}
	p = New(t, parsed.Host)
	parsed.Host = p.Addr()
	return p, parsed.String()
}

// Addr returns the host:port of the proxy.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// BlackHole holds back everything, in both directions and on new connections, until Heal.
func (p *Proxy) BlackHole() { p.change(func() { p.held = true }) }

// Strand is BlackHole for the connections that there are; new ones work.
func (p *Proxy) Strand() {
	p.change(func() {
		for l := range p.links {
			l.stranded = true
		}
	})
}

// Delay keeps each read of the network back for so long, in both directions, until Heal.
func (p *Proxy) Delay(d time.Duration) { p.change(func() { p.delay = d }) }

// Drip lets through at most so many bytes a second in each direction of a connection, a few at a time, until Heal.
func (p *Proxy) Drip(bytesPerSecond int) { p.change(func() { p.rate = bytesPerSecond }) }

// HalfClose ends the direction to the client on the connections that there are: the client reads their end, what it writes still
// arrives, and what the server answers is lost. New connections work.
func (p *Proxy) HalfClose() {
	p.change(func() {
		for l := range p.links {
			l.halfClose()
		}
	})
}

// Heal ends BlackHole, Strand, Refuse, Delay and Drip. What was held back arrives.
func (p *Proxy) Heal() {
	p.change(func() {
		p.held, p.refuse, p.delay, p.rate = false, false, 0, 0
		for l := range p.links {
			l.stranded = false
		}
	})
}

// Refuse ends all connections and every new one, until Heal.
func (p *Proxy) Refuse() {
	p.change(func() { p.refuse = true })
	p.Cut()
}

// DropNotifications keeps the server's notifications from clients, or stops doing so.
func (p *Proxy) DropNotifications(drop bool) { p.change(func() { p.deaf = drop }) }

// Cut ends all connections. New ones may come.
func (p *Proxy) Cut() {
	p.change(func() {
		for l := range p.links {
			l.end()
		}
	})
}

// Connections returns how many connections go through the proxy.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Refused returns how many connections were refused so far.
func (p *Proxy) Refused() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// Dropped returns how many notifications were dropped so far.
func (p *Proxy) Dropped() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropped
}

// HoldsBack says whether something was sent that is held back.
func (p *Proxy) HoldsBack() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waits > 0
}

// Close ends the proxy and all connections through it.
func (p *Proxy) Close() {
	p.change(func() { p.closed = true })
	_ = p.listener.Close()
	p.accept.Stop()
	p.Cut()
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.links) > 0 {
		p.flow.Wait()
	}
}

func (p *Proxy) change(set func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set()
	p.flow.Broadcast()
}

// serve accepts until the listener is closed.
func (p *Proxy) serve(context.Context) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		if p.refuse || p.closed {
			p.refused++
			_ = client.Close()
		} else {
			l := &link{proxy: p, client: client}
			p.links[l] = struct{}{}
			l.runner.Start(context.Background(), l.run)
		}
		p.mu.Unlock()
	}
}
