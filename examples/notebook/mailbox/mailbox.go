package mailbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/postbus/postbus/internal/loop"
)

// maxMail is how large a mail may be, in bytes.
const maxMail = 4 << 20

// Box takes mails.
type Box struct {
	Host string
	Port int

	folder string
	say    func(line string)
	server *smtp.Server
	runner loop.Runner
}

// Open starts a server on a free port of this machine. say is told of each mail, in a line.
func Open(folder string, say func(line string), log *slog.Logger) (*Box, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	at := listener.Addr().(*net.TCPAddr)
	b := &Box{Host: at.IP.String(), Port: at.Port, folder: folder, say: say}
	b.server = smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{box: b}, nil }))
	b.server.Domain, b.server.MaxMessageBytes, b.server.EnableSMTPUTF8 = "localhost", maxMail, true
	b.server.ReadTimeout, b.server.WriteTimeout = time.Minute, time.Minute
	b.server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	b.runner.Name, b.runner.Log = "mailbox", log
	b.runner.Start(context.Background(), func(context.Context) { _ = b.server.Serve(listener) })
	return b, nil
}

// Close ends the server.
func (b *Box) Close() {
	_ = b.server.Close()
	b.runner.Stop()
}

// keep writes a mail under its Message-ID: one that comes again takes the place of the first.
func (b *Box) keep(to []string, raw []byte) error {
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return &smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 6, 0}, Message: "this is no mail"}
	}
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.@-", r) {
			return r
		}
		return -1
	}, m.Header.Get("Message-ID"))
	if name == "" {
		name = fmt.Sprint(time.Now().UnixNano())
	}
	if err := os.WriteFile(filepath.Join(b.folder, name+".eml"), raw, 0o600); err != nil {
		return err
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil {
		subject = m.Header.Get("Subject")
	}
	b.say(fmt.Sprintf("mail      to %s: %q, in %s", strings.Join(to, ", "), subject, filepath.Join(b.folder, name+".eml")))
	return nil
}

// session is one client's.
type session struct {
	box *Box
	to  []string
}

func (s *session) Mail(string, *smtp.MailOptions) error { return nil }

// refused is the domain at which nobody is known, to see a mail fail.
const refused = "@refused.example"

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if strings.HasSuffix(to, refused) {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "nobody of this name is known here"}
	}
	s.to = append(s.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return errors.Join(errors.New("read the mail"), err)
	}
	return s.box.keep(s.to, raw)
}

func (s *session) Reset()        { s.to = nil }
func (s *session) Logout() error { return nil }
