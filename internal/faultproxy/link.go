package faultproxy

import (
	"context"
	"encoding/binary"
	"io"
	"net"

	"github.com/postbus/postbus/internal/loop"
)

// link is one client's connection and its counterpart at the server.
type link struct {
	proxy  *Proxy
	client net.Conn
	runner loop.Runner

	// Guarded by proxy.mu.
	server   net.Conn // nil until connected
	stranded bool
	ended    bool
}

// end closes both sides. The proxy's lock must be held.
func (l *link) end() {
	l.ended = true
	_ = l.client.Close()
	if l.server != nil {
		_ = l.server.Close()
	}
}

func (l *link) run(ctx context.Context) {
	defer l.proxy.change(func() { delete(l.proxy.links, l) })
	defer l.proxy.change(l.end)
	if !l.pass() {
		return
	}
	server, err := net.Dial("tcp", l.proxy.target)
	if err != nil {
		return
	}
	l.proxy.change(func() {
		l.server = server
		if l.ended {
			_ = server.Close()
		}
	})
	var upstream loop.Runner
	upstream.Start(ctx, func(context.Context) {
		defer l.proxy.change(l.end)
		l.forward()
	})
	defer upstream.Stop()
	l.back()
	l.proxy.change(l.end)
}

// pass waits while nothing may pass. It is false when the link has ended.
func (l *link) pass() bool {
	p := l.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits++
	defer func() { p.waits-- }()
	for (p.held || l.stranded) && !l.ended {
		p.flow.Wait()
	}
	return !l.ended
}

// drops says whether a notification is to be dropped, and counts it.
func (l *link) drops() bool {
	p := l.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deaf {
		p.dropped++
	}
	return p.deaf
}

// forward carries bytes from the client to the server.
func (l *link) forward() {
	buf := make([]byte, 32<<10)
	for {
		n, err := l.client.Read(buf)
		if err != nil || !l.pass() {
			return
		}
		if _, err := l.server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// back carries messages from the server to the client: a letter, the length of what follows with
// itself, and that.
func (l *link) back() {
	const header, notification = 5, 'A'
	for {
		message := make([]byte, header)
		if _, err := io.ReadFull(l.server, message); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(message[1:])-4)
		if _, err := io.ReadFull(l.server, body); err != nil || !l.pass() {
			return
		}
		if message[0] == notification && l.drops() {
			continue
		}
		if _, err := l.client.Write(append(message, body...)); err != nil {
			return
		}
	}
}
