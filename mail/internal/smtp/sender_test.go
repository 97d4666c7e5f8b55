package smtp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

const password = "s3cret-Passw0rd"

// host is a server that takes mails, and refuses what it is told to.
type host struct {
	*smtp.Server
	cfg  Config
	data func() error // what it says to a mail
	rcpt func() error

	mu   sync.Mutex
	took int
}

type session struct{ host *host }

func (session) Reset()                               {}
func (session) Logout() error                        { return nil }
func (session) Mail(string, *smtp.MailOptions) error { return nil }
func (s session) Rcpt(string, *smtp.RcptOptions) error {
	if s.host.rcpt != nil {
		return s.host.rcpt()
	}
	return nil
}

func (s session) Data(r io.Reader) error {
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	s.host.mu.Lock()
	s.host.took++
	s.host.mu.Unlock()
	if s.host.data != nil {
		return s.host.data()
	}
	return nil
}

func (session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, given string) error {
		if user != "shop" || given != password {
			return errors.New("no such user, and your password was " + given)
		}
		return nil
	}), nil
}

// newHost starts a server that speaks the mode; none has no TLS at all.
func newHost(t *testing.T, mode TLS) *host {
	t.Helper()
	h := &host{}
	h.Server = smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return session{h}, nil }))
	h.Domain, h.AllowInsecureAuth, h.ErrorLog = "localhost", true, silent{}
	certificate, roots := certificate(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.cfg = Config{
		Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port, TLS: mode, RootCAs: roots, ConnectTimeout: 5 * time.Second, Timeout: 20 * time.Second,
	}
	switch config := (&tls.Config{Certificates: []tls.Certificate{certificate}}); mode {
	case StartTLS:
		h.TLSConfig = config
	case Implicit:
		listener = tls.NewListener(listener, config)
	}
	var done sync.WaitGroup
	done.Go(func() { _ = h.Serve(listener) })
	t.Cleanup(func() {
		_ = h.Close()
		done.Wait()
	})
	return h
}

type silent struct{}

func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}

func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, roots
}

func send(t *testing.T, cfg Config, to string) error {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Send(t.Context(), Mail{
		From: mail.Address{Address: "post@example.com"}, To: mail.Address{Address: to}, MessageID: "1@example.com", Subject: "s", Text: "t",
		Date: time.Now(), UTF8: strings.Contains(to, "ü"),
	})
	return err
}

// Each mode sends, with a login where there is TLS.
func TestModes(t *testing.T) {
	t.Parallel()
	for _, mode := range []TLS{StartTLS, Implicit, None} {
		h := newHost(t, mode)
		if mode != None {
			h.cfg.User, h.cfg.Password = "shop", password
		}
		if err := send(t, h.cfg, "ada@example.com"); err != nil || h.took != 1 {
			t.Errorf("%s: %v, %d mails", mode, err, h.took)
		}
	}
}

// A connection that should be encrypted and is not, or to somebody else, sends nothing.
func TestTLSIsNotGivenUp(t *testing.T) {
	t.Parallel()
	plain := newHost(t, None)
	plain.cfg.TLS = StartTLS
	stranger := newHost(t, StartTLS)
	stranger.cfg.RootCAs = x509.NewCertPool()
	implicit := newHost(t, Implicit)
	implicit.cfg.RootCAs = x509.NewCertPool()
	for _, h := range []*host{plain, stranger, implicit} {
		err := send(t, h.cfg, "ada@example.com")
		var refused *Refused
		if err == nil || errors.As(err, &refused) || h.took != 0 {
			t.Errorf("%v, %d mails; want an error that is tried again", err, h.took)
		}
	}
	if _, err := New(Config{Host: "h", TLS: None, User: "u", Password: "p"}); err == nil {
		t.Error("a password in the clear is taken")
	}
}

// A login that is refused is tried again, and no password is in what is said of it, though the server says it back.
func TestPasswordIsInNoError(t *testing.T) {
	t.Parallel()
	h := newHost(t, StartTLS)
	h.cfg.User, h.cfg.Password = "stranger", password
	err := send(t, h.cfg, "ada@example.com")
	var refused *Refused
	if err == nil || errors.As(err, &refused) || strings.Contains(err.Error(), password) || !strings.Contains(err.Error(), "(secret)") {
		t.Errorf("%v; want an error that is tried again, without the password", err)
	}
}

// What a server says decides: 4xx and a broken connection may be tried again, 5xx about the recipient or the mail never.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at      string
		answer  error
		refused bool
	}{
		{"rcpt", &smtp.SMTPError{Code: 450, Message: "busy"}, false},
		{"rcpt", &smtp.SMTPError{Code: 550, Message: "unknown"}, true},
		{"rcpt", &smtp.SMTPError{Code: 530, Message: "log in"}, false},
		{"data", &smtp.SMTPError{Code: 451, Message: "later"}, false},
		{"data", &smtp.SMTPError{Code: 554, Message: "spam"}, true},
	} {
		h := newHost(t, None)
		if c.at == "rcpt" {
			h.rcpt = func() error { return c.answer }
		} else {
			h.data = func() error { return c.answer }
		}
		err := send(t, h.cfg, "ada@example.com")
		var refused *Refused
		if err == nil || errors.As(err, &refused) != c.refused || !strings.Contains(err.Error(), c.answer.(*smtp.SMTPError).Message) {
			t.Errorf("%s %v: %v, refused %v; want %v", c.at, c.answer, err, refused != nil, c.refused)
		}
	}
}

// An address that the server cannot carry is refused before it is asked; one that it can carry goes.
func TestAddressThatNeedsUTF8(t *testing.T) {
	t.Parallel()
	h := newHost(t, None)
	var refused *Refused
	if err := send(t, h.cfg, "jürgen@example.com"); !errors.As(err, &refused) || h.took != 0 {
		t.Errorf("without SMTPUTF8: %v", err)
	}
	h = newHost(t, None)
	h.EnableSMTPUTF8 = true
	if err := send(t, h.cfg, "jürgen@example.com"); err != nil || h.took != 1 {
		t.Errorf("with SMTPUTF8: %v", err)
	}
}

// A server that says nothing is left after the timeout, one that does not answer the end of the mail too, and both may be tried again.
func TestSilentServerIsLeft(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	mute := Config{
		Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port, TLS: None, ConnectTimeout: time.Second, Timeout: 200 * time.Millisecond,
	}
	h := newHost(t, None)
	hold := make(chan struct{})
	h.data = func() error { <-hold; return nil }
	defer close(hold)
	h.cfg.Timeout = 500 * time.Millisecond
	for _, cfg := range []Config{mute, h.cfg} {
		began := time.Now()
		err := send(t, cfg, "ada@example.com")
		var refused *Refused
		if err == nil || errors.As(err, &refused) || time.Since(began) > 15*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	}
}
