package guard

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
)

// stage is how far an attempt has come.
type stage int32

const (
	lookingUp stage = iota
	connecting
	shakingHands
	sending
	waiting
	readingBody
)

// attempt follows one Post, so that its error can say what was being done.
type attempt struct {
	client *Client
	outer  context.Context // the caller's
	host   string
	at     atomic.Int32
	dialed atomic.Pointer[string] // the address dialled last, ip:port
}

// reach moves on, never back: a connection that was begun for an attempt may be finished for the next.
func (a *attempt) reach(s stage) {
	for {
		now := a.at.Load()
		if now >= int32(s) || a.at.CompareAndSwap(now, int32(s)) {
			return
		}
	}
}

func (a *attempt) stage() stage { return stage(a.at.Load()) }

func (a *attempt) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		ConnectStart: func(_, address string) {
			a.dialed.Store(&address)
			a.reach(connecting)
		},
		TLSHandshakeStart: func() { a.reach(shakingHands) },
		GotConn:           func(httptrace.GotConnInfo) { a.reach(sending) },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				a.reach(waiting)
			}
		},
	}
}

// doing says what the attempt was at, to follow "while".
func (a *attempt) doing() string {
	switch a.stage() {
	case lookingUp:
		return "looking up " + shown(a.host)
	case connecting:
		return "connecting to " + a.address()
	case shakingHands:
		return "agreeing on TLS with " + a.address()
	case sending:
		return "sending the request"
	case waiting:
		return "waiting for the answer's headers"
	default:
		return "reading the answer's body"
	}
}

func (a *attempt) address() string {
	if address := a.dialed.Load(); address != nil {
		return *address
	}
	return shown(a.host)
}
