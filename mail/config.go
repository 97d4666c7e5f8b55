package mail

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/mail/internal/letter"
	"github.com/postbus/postbus/mail/internal/smtp"
)

// TLS says how the connection to the server is encrypted.
type TLS = smtp.TLS

const (
	// StartTLS begins in the clear and refuses to go on where the server has no STARTTLS.
	StartTLS = smtp.StartTLS
	// ImplicitTLS speaks TLS from the first byte.
	ImplicitTLS = smtp.Implicit
	// NoTLS never encrypts; it goes with no User.
	NoTLS = smtp.None
)

// Config says how mail leaves. Without Host there is no server: rules can be made, and their mails end at once as failed, with that
// for a reason.
type Config struct {
	// Host is the server that takes the mails.
	Host string
	// Port defaults to 587 with StartTLS, 465 with ImplicitTLS and 25 with NoTLS.
	Port int
	// TLS defaults to StartTLS.
	TLS TLS
	// User and Password log in. Default to no login. Neither is in any log, error or answer.
	User, Password string
	// From is the sender, alone or with a name: Shop <orders@example.com>. Needed with Host. Its domain is that of the Message-IDs.
	From string
	// Hello is the name by which this machine greets the server. Defaults to the machine's.
	Hello string
	// RootCAs defaults to the system's.
	RootCAs *x509.CertPool
	// ConnectTimeout bounds connecting. Defaults to 10 s.
	ConnectTimeout time.Duration
	// Timeout bounds the whole exchange with the server. Defaults to 30 s; at most 5 min.
	Timeout time.Duration

	// RecipientCap is how many mails one recipient gets in a window, over all rules. Defaults to 30.
	RecipientCap int
	// Window is how long a window is. Defaults to 1 h; 1 s to 24 h. Windows begin at multiples of it.
	Window time.Duration
	// MaxBodyBytes bounds each body. Defaults to 1 MiB; 1 KiB to 10 MiB.
	MaxBodyBytes int
	// Backoff is the wait before the next attempt. Defaults to 20 s, then three times as long each.
	Backoff jobs.Backoff

	// Rules are declared: they are written at the start, those of this application that are no longer among them are removed, and only
	// here can they be changed. Their names tell them apart.
	Rules []RuleSpec
	// App is the application that declares them. The façade fills it in.
	App string

	// Log defaults to slog.Default().
	Log *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Backoff == nil {
		c.Backoff = jobs.Exponential(20*time.Second, 3, 6*time.Hour)
	}
	for _, d := range []struct {
		name                string
		is                  *time.Duration
		fallback, low, high time.Duration
	}{
		{"ConnectTimeout", &c.ConnectTimeout, 10 * time.Second, time.Millisecond, time.Minute},
		{"Timeout", &c.Timeout, 30 * time.Second, 10 * time.Millisecond, 5 * time.Minute},
		{"Window", &c.Window, time.Hour, time.Second, 24 * time.Hour},
	} {
		if *d.is == 0 {
			*d.is = d.fallback
		}
		if *d.is < d.low || *d.is > d.high {
			return c, fmt.Errorf("%w: mail: %s is %s; use %s to %s", ErrInvalid, d.name, *d.is, d.low, d.high)
		}
	}
	for _, n := range []struct {
		name                string
		is                  *int
		fallback, low, high int
	}{
		{"RecipientCap", &c.RecipientCap, 30, 1, 1_000_000},
		{"MaxBodyBytes", &c.MaxBodyBytes, 1 << 20, 1 << 10, 10 << 20},
	} {
		if *n.is == 0 {
			*n.is = n.fallback
		}
		if *n.is < n.low || *n.is > n.high {
			return c, fmt.Errorf("%w: mail: %s is %d; use %d to %d", ErrInvalid, n.name, *n.is, n.low, n.high)
		}
	}
	return c, nil
}

// sender answers what sends, nil without a server, and whom the mails are from.
func (c Config) sender() (*smtp.Sender, letter.Address, error) {
	from := letter.Address{Domain: "localhost"}
	if c.Host == "" {
		if c.User != "" || c.Password != "" {
			return nil, from, fmt.Errorf("%w: mail: User and Password without Host", ErrInvalid)
		}
		return nil, from, nil
	}
	if c.Host != strings.TrimSpace(c.Host) || strings.ContainsAny(c.Host, "/: \r\n") {
		return nil, from, fmt.Errorf("%w: mail: Host %q is no host's name; the port goes into Port", ErrInvalid, c.Host)
	}
	from, err := letter.ParseAddress(c.From)
	if err != nil {
		return nil, from, fmt.Errorf("%w: mail: From: %w", ErrInvalid, err)
	}
	if from.NeedsUTF8() {
		return nil, from, fmt.Errorf("%w: mail: From %q: use ASCII before the @, so that every server takes it", ErrInvalid, from)
	}
	sender, err := smtp.New(smtp.Config{
		Host: c.Host, Port: c.Port, TLS: c.TLS, User: c.User, Password: c.Password, Hello: c.Hello, RootCAs: c.RootCAs,
		ConnectTimeout: c.ConnectTimeout, Timeout: c.Timeout,
	})
	if err != nil {
		return nil, from, fmt.Errorf("%w: mail: %w", ErrInvalid, err)
	}
	return sender, from, nil
}
