package faultproxy

import (
	"context"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/postbus/postbus/internal/loop"
)

// Proxy passes connections on to a Postgres until it is told otherwise.
// Its methods may be called from several goroutines.
type Proxy struct {
	target   string
	listener net.Listener
	accept   loop.Runner

	mu      sync.Mutex
	flow    *sync.Cond // signals a change of the fields below
	held    bool
	deaf    bool
	refuse  bool
	closed  bool
	waits   int // directions of links that hold something back
	refused int
	dropped int
	links   map[*link]struct{}
}

// New starts a proxy to a host:port. It ends with the test.
func New(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("faultproxy: %v", err)
	}
	p := &Proxy{target: target, listener: listener, links: map[*link]struct{}{}}
	p.flow = sync.NewCond(&p.mu)
	p.accept.Start(context.Background(), p.serve)
	t.Cleanup(p.close)
	return p
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

// Heal ends BlackHole, Strand and Refuse. What was held back arrives.
func (p *Proxy) Heal() {
	p.change(func() {
		p.held, p.refuse = false, false
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

func (p *Proxy) close() {
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
