package guard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// failure is an error in words for an operator. The cause is there for errors.Is; its own text is not shown, because
// it may hold what the receiver sent.
type failure struct {
	text  string
	cause error
}

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() error { return f.cause }

// failed says in resp why there is no whole answer.
func (a *attempt) failed(resp Response, err error) Response {
	resp.Blocked = errors.Is(err, ErrBlocked)
	switch outer := a.outer.Err(); {
	case resp.Blocked:
		resp.Err = &failure{err.Error(), err}
	case outer != nil:
		resp.Err = &failure{"stopped from outside while " + a.doing(), outer}
	case isTimeout(err):
		resp.Err = &failure{"timed out after " + spell(a.client.cfg.Timeout) + " while " + a.doing(), context.DeadlineExceeded}
	default:
		resp.Err = &failure{a.explain(err), err}
	}
	return resp
}

func isTimeout(err error) bool {
	if lookup := new(lookupError); errors.As(err, &lookup) {
		return errors.Is(err, context.DeadlineExceeded)
	}
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout()
}

func (a *attempt) explain(err error) string {
	for _, explain := range []func(error) string{a.ofLookup, a.ofTLS, a.ofNetwork, a.ofAnswer} {
		if text := explain(err); text != "" {
			return text
		}
	}
	switch {
	case a.stage() >= sending:
		return fmt.Sprintf("the connection broke while %s", a.doing())
	case a.client.cfg.Proxy != nil:
		return "the proxy: " + oneLine(err.Error())
	default:
		return "the request cannot be sent: " + oneLine(err.Error())
	}
}

func (a *attempt) ofLookup(err error) string {
	lookup := new(lookupError)
	if !errors.As(err, &lookup) {
		return ""
	}
	dns := new(net.DNSError)
	switch known := errors.As(err, &dns); {
	case known && dns.IsNotFound:
		return shown(lookup.host) + " has no address: the name was not found"
	case known && dns.IsTimeout:
		return "looking up " + shown(lookup.host) + ": the name server did not answer in time"
	default:
		return "looking up " + shown(lookup.host) + " failed"
	}
}

func (a *attempt) ofTLS(err error) string {
	var (
		host    x509.HostnameError
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		plain   tls.RecordHeaderError
		said    *net.OpError // by the other side, in an alert
	)
	switch {
	case errors.As(err, &host):
		return fmt.Sprintf("TLS: certificate is for %s, not %s", namesOf(host.Certificate), shown(host.Host))
	case errors.As(err, &unknown):
		return "TLS: certificate is not signed by a known authority"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "TLS: certificate has expired or is not valid yet"
	case errors.As(err, &invalid):
		return "TLS: certificate is not valid"
	case errors.As(err, &plain):
		return "TLS: " + a.address() + " does not speak TLS; is the URL meant to be http, or another port?"
	case errors.As(err, &said) && said.Op == "remote error":
		return "TLS: " + a.address() + " refused the connection: " + said.Err.Error()
	case a.stage() == shakingHands && !isNetwork(err):
		return "TLS: no agreement with " + a.address() + ": " + oneLine(err.Error())
	}
	return ""
}

// namesOf lists what a certificate is for.
func namesOf(cert *x509.Certificate) string {
	all := cert.DNSNames
	for _, ip := range cert.IPAddresses {
		all = append(all, ip.String())
	}
	if len(all) == 0 {
		return "no name"
	}
	return oneLine(strings.Join(all, ", "))
}

func isNetwork(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, new(*net.OpError))
}

func (a *attempt) ofNetwork(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused by " + a.address()
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to " + a.address()
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the receiver reset the connection while " + a.doing()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(err.Error(), "server closed"):
		return "the receiver closed the connection while " + a.doing()
	}
	return ""
}

// ofAnswer goes by words where net/http has no types.
func (a *attempt) ofAnswer(err error) string {
	if odd := new(oddStatusError); errors.As(err, &odd) {
		return fmt.Sprintf("the answer has the status %d, which does not end a request", odd.status)
	}
	switch {
	case a.stage() < sending:
		return ""
	case strings.Contains(err.Error(), "headers exceeded"):
		return fmt.Sprintf("the answer's headers are longer than %d KiB", maxHeader>>10)
	case a.stage() == readingBody:
		return "the answer's body is not valid HTTP"
	case a.stage() == waiting, strings.Contains(err.Error(), "malformed"):
		return "the answer is not valid HTTP"
	}
	return ""
}

// spell writes a duration as people do.
func spell(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%g s", d.Seconds())
	}
	return fmt.Sprintf("%g ms", float64(d)/float64(time.Millisecond))
}

// oneLine makes a text fit for a log: one line of printable characters, not too long.
func oneLine(text string) string {
	return shown(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text))
}
