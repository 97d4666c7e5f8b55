package river

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/postbus/postbus/jobs"
)

const (
	maxArgsBytes = 1 << 20
	// Postgres reads JSON by recursion; its default stack takes some thousand levels.
	maxArgsDepth = 500
	// Postgres stores JSON numbers as numeric: 131,072 digits before the point, 16,383 after it.
	maxExponent = 16000
)

// payload is args that are fit to be stored.
type payload struct {
	text string
	// verbatim says that jsonb would spell a number differently (1e3, -0): the handler then gets the text.
	verbatim bool
}

// encodeArgs answers args as JSON, or why they cannot be stored.
func encodeArgs(kind string, args any) (payload, error) {
	text, err := marshalArgs(args)
	if err != nil {
		return payload{}, fmt.Errorf("%w: args of kind %q: %w", jobs.ErrInvalid, kind, err)
	}
	if len(text) > maxArgsBytes {
		return payload{}, fmt.Errorf("%w: args of kind %q are %d bytes; the limit is %d bytes: pass keys and let the handler read the rest",
			jobs.ErrInvalid, kind, len(text), maxArgsBytes)
	}
	verbatim, err := checkJSON(text)
	if err != nil {
		return payload{}, fmt.Errorf("%w: args of kind %q: %w", jobs.ErrInvalid, kind, err)
	}
	return payload{text: string(text), verbatim: verbatim}, nil
}

func marshalArgs(args any) ([]byte, error) {
	if raw, ok := args.(json.RawMessage); ok {
		return raw, nil
	}
	return json.Marshal(args)
}

var exponent = regexp.MustCompile(`^-?[0-9.]+[eE]([+-]?[0-9]+)$`)

// checkJSON reports whether a number would be respelled, or why text is not a JSON object that Postgres can store.
func checkJSON(text []byte) (verbatim bool, err error) {
	if !utf8.Valid(text) {
		return false, fmt.Errorf("they are not valid UTF-8")
	}
	if trimmed := bytes.TrimLeft(text, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(text) {
		return false, fmt.Errorf("they are not a JSON object, which every job's args must be")
	}
	if err := checkEscapes(text); err != nil {
		return false, err
	}
	depth := 0
	decoder := newDecoder(text)
	for decoder.More() || depth > 0 {
		token, err := decoder.Token()
		if err != nil {
			return false, err
		}
		switch t := token.(type) {
		case json.Delim:
			if depth += step(t); depth > maxArgsDepth {
				return false, fmt.Errorf("they nest deeper than %d levels", maxArgsDepth)
			}
		case json.Number:
			respelled, err := checkNumber(string(t))
			if err != nil {
				return false, err
			}
			verbatim = verbatim || respelled
		}
	}
	return verbatim, nil
}

func step(delim json.Delim) int {
	if delim == '{' || delim == '[' {
		return 1
	}
	return -1
}

// checkNumber reports whether numeric spells the number differently.
func checkNumber(number string) (respelled bool, err error) {
	if len(number) > maxExponent {
		return false, fmt.Errorf("a number has more than %d digits, which Postgres cannot store", maxExponent)
	}
	if match := exponent.FindStringSubmatch(number); match != nil {
		if e, err := strconv.Atoi(match[1]); err != nil || e > maxExponent || e < -maxExponent/2 {
			return false, fmt.Errorf("the number %.40s is beyond what Postgres can store", number)
		}
		return true, nil
	}
	return strings.HasPrefix(number, "-0") && strings.Trim(number, "-0.") == "", nil
}

// checkEscapes refuses what JSON allows in a string and Postgres does not: \u0000 and half of a surrogate pair.
// text is valid JSON.
func checkEscapes(text []byte) error {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		if text[i] != 'u' {
			continue
		}
		unit := hexUnit(text[i+1:])
		i += 4
		switch {
		case unit == 0:
			return fmt.Errorf(`they hold \u0000, which Postgres cannot store as text`)
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return fmt.Errorf(`they hold half of a surrogate pair (\u%04x), which is not a character`, unit)
		case unit >= 0xD800 && unit <= 0xDBFF:
			low := uint64(0)
			if bytes.HasPrefix(text[i+1:], []byte(`\u`)) {
				low = hexUnit(text[i+3:])
			}
			if low < 0xDC00 || low > 0xDFFF {
				return fmt.Errorf(`they hold half of a surrogate pair (\u%04x), which is not a character`, unit)
			}
			i += 6
		}
	}
	return nil
}

func hexUnit(text []byte) uint64 {
	unit, _ := strconv.ParseUint(string(text[:4]), 16, 32) // valid JSON has four hex digits here
	return unit
}

func newDecoder(text []byte) *json.Decoder {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder
}

// canonical answers the one spelling of a JSON object: keys sorted, no white space, numbers as they were written. Of a key
// that is there twice the last value counts, as for jsonb.
func canonical(text string) ([]byte, error) {
	var value any
	if err := newDecoder([]byte(text)).Decode(&value); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// uniqueKey is the key under which at most one job of the kind with these args stands.
func uniqueKey(kind, args string) ([]byte, error) {
	spelled, err := canonical(args)
	if err != nil {
		return nil, fmt.Errorf("canonical args of kind %q: %w", kind, err)
	}
	sum := sha256.Sum256([]byte("&kind=" + kind + "&args=" + string(spelled)))
	return sum[:], nil
}

// checkText refuses what Postgres cannot store as text.
func checkText(what, text string) error {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return fmt.Errorf("%w: %s is not text that Postgres can store: valid UTF-8 without \\u0000", jobs.ErrInvalid, what)
	}
	return nil
}

// storable makes any text fit to be stored, and short enough to be looked at.
func storable(text string, limit int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "… (cut)"
	}
	return text
}
