// Package hidden keeps a secret out of everything that prints, logs or encodes values. A type that embeds [Value] shows
// a text in its place through every verb of fmt, through log/slog and through every encoder that honours
// encoding.TextMarshaler, encoding/json among them; only [Value.Reveal] gives the secret.
//
// The secret is held behind a pointer, so that it stays hidden even where those methods are not asked, as in a private
// field of somebody else's struct.
package hidden
