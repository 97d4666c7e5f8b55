package smtp

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/mail"
	"time"

	gomail "github.com/wneessen/go-mail"
	gosmtp "github.com/wneessen/go-mail/smtp"
)

// Sender sends mails through one server.
type Sender struct{ cfg Config }

// New checks the configuration. Nothing is dialled yet.
func New(cfg Config) (*Sender, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if _, err := gomail.NewClient(cfg.Host, cfg.options()...); err != nil {
		return nil, err
	}
	return &Sender{cfg: cfg}, nil
}

// Mail is one mail to one recipient. Its texts are fit for headers; see package letter.
type Mail struct {
	From, To   mail.Address
	MessageID  string // without angle brackets
	Subject    string
	Text, HTML string // HTML may be ""
	Date       time.Time
	// UTF8 says that the recipient's address needs a server with SMTPUTF8.
	UTF8 bool
}

// Send hands the mail over and answers what the server said to it. Once the server has taken it there is no error any more.
func (s *Sender) Send(ctx context.Context, m Mail) (answer string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	link := &link{ctx: ctx, cfg: s.cfg}
	defer link.end()
	client, err := gomail.NewClient(s.cfg.Host, append(s.cfg.options(), gomail.WithDialContextFunc(link.dial))...)
	if err != nil {
		return "", err
	}
	msg := m.message()
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return "", s.explain(ctx, "connect", err)
	}
	if err := takes(session, m, s.cfg.Host); err != nil {
		return "", err
	}
	err = client.SendWithSMTPClient(session, msg)
	if msg.IsDelivered() { // what goes wrong after the server's word is not the mail's
		_ = session.Quit()
		return cut(msg.ServerResponse()), nil
	}
	return "", s.explain(ctx, "send", err)
}

// takes says whether the server can carry such an address.
func takes(session *gosmtp.Client, m Mail, host string) error {
	if !m.UTF8 {
		return nil
	}
	if ok, _ := session.Extension("SMTPUTF8"); ok {
		return nil
	}
	return &Refused{Text: fmt.Sprintf("the server %s has no SMTPUTF8, which the address %s needs", host, m.To.Address)}
}

func (m Mail) message() *gomail.Msg {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(&m.From)
	msg.ToMailAddress(&m.To)
	msg.SetMessageIDWithValue(m.MessageID)
	msg.SetDateWithValue(m.Date)
	msg.Subject(m.Subject)
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: nobody's absence is answered to us
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	if m.HTML != "" {
		msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}
	return msg
}

// link is the connection of one Send, which ends with the context wherever it stands.
type link struct {
	ctx  context.Context
	cfg  Config
	conn net.Conn
	stop func() bool
}

func (l *link) dial(_ context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(l.ctx, l.cfg.ConnectTimeout)
	defer cancel()
	var err error
	if l.cfg.TLS == Implicit {
		dialer := tls.Dialer{Config: &tls.Config{ServerName: l.cfg.Host, RootCAs: l.cfg.RootCAs, MinVersion: tls.VersionTLS12}}
		l.conn, err = dialer.DialContext(ctx, network, address)
	} else {
		l.conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
	}
	if err != nil {
		return nil, err
	}
	conn := l.conn
	l.stop = context.AfterFunc(l.ctx, func() { _ = conn.Close() })
	return conn, nil
}

func (l *link) end() {
	if l.conn == nil {
		return
	}
	l.stop()
	_ = l.conn.Close()
}
