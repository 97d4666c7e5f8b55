package hidden

import (
	"fmt"
	"io"
	"log/slog"
)

// Value is a secret and the text that is shown for it. The zero Value holds no secret and shows "(hidden)".
type Value struct {
	shown  string
	secret *string
}

// New hides secret behind shown and "(hidden)". shown must not be secret.
func New(shown, secret string) Value {
	return Value{shown: shown + "(hidden)", secret: &secret}
}

// Reveal gives the secret, "" for the zero Value.
func (v Value) Reveal() string {
	if v.secret == nil {
		return ""
	}
	return *v.secret
}

func (v Value) String() string {
	if v.secret == nil {
		return "(hidden)"
	}
	return v.shown
}

// GoString shows what String shows.
func (v Value) GoString() string { return v.String() }

// Format shows what String shows, whatever the verb and its flags.
func (v Value) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, v.String()) // A fmt.State has nowhere to report it.
}

// LogValue shows what String shows.
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }

// MarshalText encodes what String shows: the secret does not come back out of it.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }
