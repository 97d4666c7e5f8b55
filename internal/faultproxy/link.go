package faultproxy

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"time"

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
	half     bool // nothing goes to the client any more
}

// halfClose says to the client that nothing more comes. The proxy's lock must be held.
func (l *link) halfClose() {
	l.half = true
	if tcp, ok := l.client.(*net.TCPConn); ok {
		_ = tcp.CloseWrite() // fails where the client is gone already
	}
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
	if l.proxy.plain {
		l.carry(l.server, l.toClient)
	} else {
		l.back()
	}
	l.proxy.change(l.end)
}

// pass waits for the delay and while nothing may pass. It is false when the link has ended.
func (l *link) pass() bool {
	p := l.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits++
	defer func() { p.waits-- }()
	if delay := p.delay; delay > 0 {
		p.mu.Unlock()
		_ = loop.Sleep(context.Background(), delay)
		p.mu.Lock()
	}
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
func (l *link) forward() { l.carry(l.client, l.toServer) }

// carry passes on what it reads until one of the sides ends.
func (l *link) carry(from io.Reader, to func([]byte) error) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil || !l.pass() || l.drip(buf[:n], to) != nil {
			return
		}
	}
}

func (l *link) toServer(b []byte) error {
	_, err := l.server.Write(b)
	return err
}

// toClient loses what comes after a half-close.
func (l *link) toClient(b []byte) error {
	l.proxy.mu.Lock()
	half := l.half
	l.proxy.mu.Unlock()
	if half {
		return nil
	}
	_, err := l.client.Write(b)
	if err != nil {
		l.proxy.mu.Lock()
		defer l.proxy.mu.Unlock()
		if l.half { // it came in between
			return nil
		}
	}
	return err
}

// drip hands bytes on: all at once, or a few at a time while the proxy is slow.
func (l *link) drip(b []byte, to func([]byte) error) error {
	const piece = 64
	for len(b) > 0 {
		l.proxy.mu.Lock()
		rate, ended := l.proxy.rate, l.ended
		l.proxy.mu.Unlock()
		if ended {
			return net.ErrClosed
		}
		n := len(b)
		if rate > 0 {
			n = min(n, piece)
			_ = loop.Sleep(context.Background(), time.Duration(n)*time.Second/time.Duration(rate))
		}
		if err := to(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
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
		if l.drip(append(message, body...), l.toClient) != nil {
			return
		}
	}
}
