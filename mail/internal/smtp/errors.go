package smtp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	gomail "github.com/wneessen/go-mail"
)

// Refused says that the server will never take this mail to this recipient.
type Refused struct {
	Code int // 0 where it was not asked
	Text string
}

func (r *Refused) Error() string { return r.Text }

// maxText bounds what is kept of a server's words.
const maxText = 1 << 10

// explain says what went wrong without a secret, and whether trying again could mend it: everything could, but for a 5xx about the
// recipient or the mail. What is said about us (who we are, who the mail is from) is the operator's to mend.
func (s *Sender) explain(ctx context.Context, doing string, err error) error {
	text := cut(s.withoutSecrets(err.Error()))
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w: %s", doing, context.Cause(ctx), text)
	}
	var failed *gomail.SendError
	if errors.As(err, &failed) && refusal(failed) {
		return &Refused{Code: failed.ErrorCode(), Text: text}
	}
	return fmt.Errorf("%s: %s", doing, text)
}

func refusal(failed *gomail.SendError) bool {
	switch failed.Reason {
	case gomail.ErrSMTPRcptTo, gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
	default:
		return false
	}
	switch code := failed.ErrorCode(); code {
	case 530, 534, 535, 538: // about logging in
		return false
	default:
		return code >= 500 && code < 600
	}
}

// withoutSecrets takes the password out of what a server may have said back.
func (s *Sender) withoutSecrets(text string) string {
	if s.cfg.Password == "" {
		return text
	}
	for _, secret := range []string{
		s.cfg.Password,
		base64.StdEncoding.EncodeToString([]byte(s.cfg.Password)),
		base64.StdEncoding.EncodeToString([]byte("\x00" + s.cfg.User + "\x00" + s.cfg.Password)),
	} {
		text = strings.ReplaceAll(text, secret, "(secret)")
	}
	return text
}

func cut(text string) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", " "), "?")
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}
