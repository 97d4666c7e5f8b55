package smtp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// TLS says how a connection is encrypted.
type TLS string

const (
	// StartTLS begins in the clear and refuses to go on where the server has no STARTTLS.
	StartTLS TLS = "starttls"
	// Implicit speaks TLS from the first byte.
	Implicit TLS = "tls"
	// None never encrypts.
	None TLS = "none"
)

// Config is a server and how to speak with it.
type Config struct {
	Host           string
	Port           int
	TLS            TLS
	User, Password string
	Hello          string // "" for this machine's name
	RootCAs        *x509.CertPool
	ConnectTimeout time.Duration // to connect, and to encrypt
	Timeout        time.Duration // for all
}

// Ports are those that the modes go with.
func (t TLS) port() int {
	switch t {
	case Implicit:
		return 465
	case None:
		return 25
	}
	return 587
}

func (c Config) withDefaults() (Config, error) {
	switch c.TLS {
	case "":
		c.TLS = StartTLS
	case StartTLS, Implicit, None:
	default:
		return c, fmt.Errorf("TLS is %q; use %q, %q or %q", c.TLS, StartTLS, Implicit, None)
	}
	if c.Port == 0 {
		c.Port = c.TLS.port()
	}
	switch {
	case c.Port < 1 || c.Port > 65535:
		return c, fmt.Errorf("its Port is %d; use 1 to 65535", c.Port)
	case c.User != "" && c.TLS == None:
		return c, errors.New("a User and TLS \"none\" do not go together: the password would cross the network in the clear")
	case (c.User == "") != (c.Password == ""):
		return c, errors.New("a User and a Password go together: give both or neither")
	}
	return c, nil
}

func (c Config) options() []gomail.Option {
	options := []gomail.Option{
		gomail.WithPort(c.Port), gomail.WithTimeout(c.Timeout), gomail.WithoutNoop(),
		gomail.WithTLSConfig(&tls.Config{ServerName: c.Host, RootCAs: c.RootCAs, MinVersion: tls.VersionTLS12}),
	}
	switch c.TLS {
	case Implicit:
		options = append(options, gomail.WithSSL())
	case None:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if c.Hello != "" {
		options = append(options, gomail.WithHELO(c.Hello))
	}
	if c.User != "" {
		options = append(options, gomail.WithOpportunisticSMTPAuth(
			gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthSCRAMSHA1, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin, gomail.SMTPAuthCramMD5,
		), gomail.WithUsername(c.User), gomail.WithPassword(c.Password))
	}
	return options
}
