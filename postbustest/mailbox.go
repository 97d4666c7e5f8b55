package postbustest

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/postbus/postbus/internal/wait"
)

// Mailbox is an SMTP server that takes mails, for tests. It is on loopback and speaks no TLS: use its Host and Port with the mode "none".
type Mailbox struct {
	Host string
	Port int

	mu     sync.Mutex
	answer func(Mailed) error
	refuse func(to string) error
	got    []Mailed
}

// Mailed is one mail that a Mailbox was handed.
type Mailed struct {
	From string
	To   []string
	Raw  []byte
	// Header has the mail's headers; Text and HTML its decoded bodies.
	Header     mail.Header
	Text, HTML string
	// Unreadable says why the mail cannot be read as one; nil where it can.
	Unreadable error
	At         time.Time
	N          int // from 1
}

// Subject is the decoded subject.
func (m Mailed) Subject() string {
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil {
		return "undecodable: " + err.Error()
	}
	return subject
}

// NewMailbox starts a server that ends with the test.
func NewMailbox(t testing.TB) *Mailbox {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := listener.Addr().(*net.TCPAddr)
	box := &Mailbox{Host: at.IP.String(), Port: at.Port}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &mailSession{box: box}, nil }))
	server.Domain, server.MaxMessageBytes, server.EnableSMTPUTF8 = "mailbox.test", 64<<20, true
	server.ErrorLog = discardLog{}
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		_ = server.Close()
		done.Wait()
	})
	return box
}

// Answer decides what each mail is answered, after it was taken down: nil takes it, SMTPError says a code, and anything else breaks the
// connection off.
func (b *Mailbox) Answer(answer func(Mailed) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = answer
}

// Refuse decides what the server says to a recipient.
func (b *Mailbox) Refuse(refuse func(to string) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuse = refuse
}

// SMTPError is an answer with a code.
func SMTPError(code int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 0, 0}, Message: text}
}

// Mails are all mails so far, in the order of their arrival, refused ones too.
func (b *Mailbox) Mails() []Mailed {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Mailed(nil), b.got...)
}

// WaitFor waits until n mails have come, and answers all of them. The test fails when they do not come in time.
func (b *Mailbox) WaitFor(t testing.TB, n int, within time.Duration) []Mailed {
	t.Helper()
	var got []Mailed
	wait.Eventually(t, within, func() (bool, string) {
		got = b.Mails()
		return len(got) >= n, "the mailbox has not got as many mails as expected"
	})
	return got
}

type mailSession struct {
	box  *Mailbox
	from string
	to   []string
}

func (s *mailSession) Reset()        { s.from, s.to = "", nil }
func (s *mailSession) Logout() error { return nil }

func (s *mailSession) Mail(from string, _ *smtp.MailOptions) error {
	s.from = from
	return nil
}

func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.box.mu.Lock()
	refuse := s.box.refuse
	s.box.mu.Unlock()
	if refuse != nil {
		if err := refuse(to); err != nil {
			return err
		}
	}
	s.to = append(s.to, to)
	return nil
}

func (s *mailSession) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	m := Mailed{From: s.from, To: s.to, Raw: raw, At: time.Now()}
	m.Unreadable = m.read()
	s.box.mu.Lock()
	m.N = len(s.box.got) + 1
	s.box.got = append(s.box.got, m)
	answer := s.box.answer
	s.box.mu.Unlock()
	if answer == nil {
		return nil
	}
	return answer(m)
}

func (m *Mailed) read() error {
	msg, err := mail.ReadMessage(bytes.NewReader(m.Raw))
	if err != nil {
		return err
	}
	m.Header = msg.Header
	return m.part(msg.Header.Get("Content-Type"), msg.Header.Get("Content-Transfer-Encoding"), msg.Body)
}

func (m *Mailed) part(contentType, encoding string, body io.Reader) error {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return err
	}
	if strings.HasPrefix(kind, "multipart/") {
		return m.parts(multipart.NewReader(body, params["boundary"]))
	}
	if strings.EqualFold(encoding, "quoted-printable") {
		body = quotedprintable.NewReader(body)
	}
	text, err := io.ReadAll(body)
	switch kind {
	case "text/plain":
		m.Text = string(text)
	case "text/html":
		m.HTML = string(text)
	}
	return err
}

func (m *Mailed) parts(r *multipart.Reader) error {
	for {
		part, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := m.part(part.Header.Get("Content-Type"), part.Header.Get("Content-Transfer-Encoding"), part); err != nil {
			return err
		}
	}
}

type discardLog struct{}

func (discardLog) Printf(string, ...any) {}
func (discardLog) Println(...any)        {}
