package letter

import (
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// Limits of an address, in bytes (RFC 5321, 4.5.3.1).
const (
	maxLocal   = 64
	maxDomain  = 255
	maxAddress = 254
	// maxGiven is how long an address with its name may be before anything is made of it.
	maxGiven = 1 << 10
)

// Address is where a mail goes or comes from.
type Address struct {
	// Name is for people, fit for a header; "" for none.
	Name string
	// Local and Domain are before and behind the @. The domain is lower-case ASCII: a name in another script is in its xn-- form.
	Local, Domain string
}

// ParseAddress reads one address, alone or behind a name: ada@example.com, or Ada <ada@example.com>.
func ParseAddress(given string) (Address, error) {
	if len(given) > maxGiven {
		return Address{}, fmt.Errorf("an address of %d bytes; use at most %d", len(given), maxGiven)
	}
	if strings.ContainsFunc(given, func(r rune) bool { return unicode.IsControl(r) || turns(r) || r == unicode.ReplacementChar }) {
		return Address{}, fmt.Errorf("%q has control characters", given)
	}
	parsed, err := mail.ParseAddress(given)
	if err != nil {
		return Address{}, fmt.Errorf("%q is no mail address: %s", given, strings.TrimPrefix(err.Error(), "mail: "))
	}
	at := strings.LastIndex(parsed.Address, "@")
	a := Address{Name: Line(parsed.Name, MaxName), Local: parsed.Address[:at]}
	if a.Domain, err = domain(parsed.Address[at+1:]); err != nil {
		return Address{}, fmt.Errorf("%q is no mail address: %w", given, err)
	}
	if err := a.check(); err != nil {
		return Address{}, fmt.Errorf("%q is no mail address: %w", given, err)
	}
	return a, nil
}

func (a Address) check() error {
	switch {
	case strings.ContainsFunc(a.Local, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"<>()[],;:\@`, r) }):
		return errors.New("what is before the @ would need quoting, which few servers take")
	case len(a.Local) > maxLocal:
		return fmt.Errorf("what is before the @ has %d bytes; the limit is %d", len(a.Local), maxLocal)
	case len(a.Domain) > maxDomain || len(a.String()) > maxAddress:
		return fmt.Errorf("it has %d bytes; the limit is %d", len(a.String()), maxAddress)
	}
	return nil
}

// domain answers the form in which a domain is sent.
func domain(given string) (string, error) {
	if strings.HasPrefix(given, "[") {
		return "", errors.New("it names a machine by its number; use a domain")
	}
	ascii, err := idna.Lookup.ToASCII(given)
	if err != nil {
		return "", fmt.Errorf("the domain %q: %s", given, strings.TrimPrefix(err.Error(), "idna: "))
	}
	for _, label := range strings.Split(ascii, ".") {
		if label == "" || len(label) > 63 {
			return "", fmt.Errorf("the domain %q has a part that is empty or longer than 63 bytes", given)
		}
	}
	return strings.ToLower(ascii), nil
}

// String is the address without its name.
func (a Address) String() string { return a.Local + "@" + a.Domain }

// NeedsUTF8 says that only a server with SMTPUTF8 (RFC 6531) takes the address.
func (a Address) NeedsUTF8() bool {
	return strings.ContainsFunc(a.Local, func(r rune) bool { return r > unicode.MaxASCII })
}
