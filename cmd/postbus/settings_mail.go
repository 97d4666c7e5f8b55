package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/postbus/postbus/mail"
)

// mailSettings are how serve sends mail.
type mailSettings struct {
	on             bool
	host, tls      string
	user, password string
	from           string
	port, cap      int
	timeout        time.Duration
}

// mailKeys are the settings of mail.
func mailKeys() []setting {
	on := boolean("mail", "make and send mails by rules; false leaves that to other processes on the database", func(s *settings) *bool { return &s.mail.on })
	on.fallback = "true"
	password := text("smtp_password", "the user's password", "", func(s *settings) *string { return &s.mail.password })
	password.show = func(s settings) string {
		if s.mail.password == "" {
			return ""
		}
		return masked
	}
	return []setting{
		on,
		text("smtp_host", "server that takes the mails; without one they end as failed, and say so", "", func(s *settings) *string { return &s.mail.host }),
		number("smtp_port", "its port; 0 is the one that goes with smtp_tls: 587, 465 or 25", "0", func(s *settings) *int { return &s.mail.port }),
		text("smtp_tls", "starttls, tls (from the first byte) or none", string(mail.StartTLS), func(s *settings) *string { return &s.mail.tls }),
		text("smtp_user", "who logs in to it; nobody when empty", "", func(s *settings) *string { return &s.mail.user }),
		password,
		text("smtp_from", "sender of the mails: an address, alone or with a name", "", func(s *settings) *string { return &s.mail.from }),
		{
			key: "smtp_timeout", doc: "how long an exchange with it may take", fallback: "30s",
			set:  func(s *settings, text string) (err error) { s.mail.timeout, err = time.ParseDuration(text); return err },
			show: func(s settings) string { return s.mail.timeout.String() },
		},
		number("mail_cap", "mails that one recipient gets in an hour; more of them wait", "30", func(s *settings) *int { return &s.mail.cap }),
	}
}

func number(key, doc, fallback string, of func(*settings) *int) setting {
	return setting{
		key: key, doc: doc, fallback: fallback,
		set: func(s *settings, text string) (err error) {
			if *of(s), err = strconv.Atoi(text); err != nil {
				return fmt.Errorf("%q is not a number", text)
			}
			return nil
		},
		show: func(s settings) string { return strconv.Itoa(*of(&s)) },
	}
}

// config is what mail is made of.
func (m mailSettings) config() mail.Config {
	return mail.Config{
		Host: m.host, Port: m.port, TLS: mail.TLS(m.tls), User: m.user, Password: m.password, From: m.from, Timeout: m.timeout, RecipientCap: m.cap,
	}
}
