package mail

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/mail/internal/letter"
)

// Rule says which events are mailed to whom, and how the mail reads.
type Rule struct {
	ID string
	RuleSpec
	// App is the application whose Config declares the rule; "" for one that was made by an operation or in SQL.
	App                  string
	CreatedAt, UpdatedAt time.Time
}

// RuleSpec is what a rule is made of.
type RuleSpec struct {
	// Name is for people, at most 120 characters. Of the rules in a Config no two have the same.
	Name string
	// OwnerID is whose events are mailed, "" for those of all owners. At most 1 KiB; at most 1,000 rules an owner.
	OwnerID string
	// Types are globs over event types, 1 to 100, as in a subscription.
	Types []string
	// To are the recipients, 1 to 50: an address, alone or with a name, or "data.email" for what the event's data have there: an
	// address or a list of at most 100. What the data do not have is nobody.
	To []string
	// Subject and Text are templates (text/template), at most 1 KiB and 64 KiB. HTML (html/template), at most 64 KiB, may be "".
	Subject, Text, HTML string
	// Burst is how many of its mails go in one window. Defaults to 1,000; range 1 to 1,000,000.
	Burst int
	// Disabled stops it: new events make no mail, and mails that wait are given up.
	Disabled bool
}

// RulePatch is a change of a rule; nil fields stay.
type RulePatch struct {
	Name                *string
	Types, To           *[]string
	Subject, Text, HTML *string
	Burst               *int
	Disabled            *bool
}

// Limits of a rule.
const (
	maxName       = 120
	maxOwnerBytes = 1 << 10
	maxTypes      = 100
	maxGlobBytes  = 122 // a name of 120 bytes and ".*"
	maxTo         = 50
	maxToBytes    = 320
	maxFromData   = 100
	maxSubject    = 1 << 10
	defaultBurst  = 1000
	maxBurst      = 1_000_000
	maxPerOwner   = 1000
)

func (r RuleSpec) check() (RuleSpec, error) {
	if r.Burst == 0 {
		r.Burst = defaultBurst
	}
	switch {
	case strings.TrimSpace(r.Name) == "" || utf8.RuneCountInString(r.Name) > maxName || r.Name != letter.Line(r.Name, maxName):
		return r, fmt.Errorf("%w: name %.200q; use one line of 1 to %d characters", ErrInvalid, r.Name, maxName)
	case len(r.OwnerID) > maxOwnerBytes || !isText(r.OwnerID):
		return r, fmt.Errorf("%w: owner_id has %d bytes; use at most %d bytes of UTF-8 without NUL", ErrInvalid, len(r.OwnerID), maxOwnerBytes)
	case r.Burst < 1 || r.Burst > maxBurst:
		return r, fmt.Errorf("%w: burst is %d; use 1 to %d", ErrInvalid, r.Burst, maxBurst)
	}
	for _, check := range []func() error{r.checkTypes, r.checkTo, r.checkTemplates} {
		if err := check(); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r RuleSpec) checkTypes() error {
	if len(r.Types) == 0 || len(r.Types) > maxTypes {
		return fmt.Errorf("%w: types has %d globs; use 1 to %d, \"*\" for every type", ErrInvalid, len(r.Types), maxTypes)
	}
	for i, glob := range r.Types {
		if len(glob) > maxGlobBytes {
			return fmt.Errorf("%w: types[%d] has %d bytes; use at most %d", ErrInvalid, i, len(glob), maxGlobBytes)
		}
		if err := events.CheckGlob(glob); err != nil {
			return fmt.Errorf("%w: types[%d]: %w", ErrInvalid, i, err)
		}
	}
	return nil
}

func (r RuleSpec) checkTo() error {
	if len(r.To) == 0 || len(r.To) > maxTo {
		return fmt.Errorf("%w: to has %d recipients; use 1 to %d", ErrInvalid, len(r.To), maxTo)
	}
	for i, to := range r.To {
		if len(to) > maxToBytes {
			return fmt.Errorf("%w: to[%d] has %d bytes; use at most %d", ErrInvalid, i, len(to), maxToBytes)
		}
		if _, ok := dataPath(to); ok {
			continue
		}
		if _, err := letter.ParseAddress(to); err != nil {
			return fmt.Errorf("%w: to[%d]: %w; use an address, or data.<key> for one in the event's data", ErrInvalid, i, err)
		}
	}
	return nil
}

func (r RuleSpec) checkTemplates() error {
	if len(r.Subject) > maxSubject {
		return fmt.Errorf("%w: subject has %d bytes; use at most %d", ErrInvalid, len(r.Subject), maxSubject)
	}
	if !isText(r.Subject) || !isText(r.Text) || !isText(r.HTML) {
		return fmt.Errorf("%w: a template is no UTF-8 without NUL", ErrInvalid)
	}
	if _, err := letter.Parse(r.Subject, r.Text, r.HTML); err != nil {
		return fmt.Errorf("%w: template: %w", ErrInvalid, err)
	}
	return nil
}

// matches says whether the rule mails events of the type. A test is sent by itself.
func (r RuleSpec) matches(typ string) bool {
	for _, glob := range r.Types {
		if typ != Test && events.GlobMatches(glob, typ) {
			return true
		}
	}
	return false
}

// isText says whether Postgres can store s as text.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }
