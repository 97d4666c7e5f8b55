package webhooks

import (
	"strconv"
	"strings"
)

// canonicalNumber brings a JSON number to one spelling of its value: its digits without zeros at either end, and a power of
// ten. Nothing is expanded, so 1e1000000 costs as much as 1. ok is false where text is no JSON number or its exponent has
// more than 17 digits.
func canonicalNumber(text string) (value string, ok bool) {
	rest, negative := strings.CutPrefix(text, "-")
	mantissa, exponent := rest, int64(0)
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		mantissa = rest[:i]
		if exponent, ok = parseExponent(rest[i+1:]); !ok {
			return "", false
		}
	}
	whole, fraction, pointed := strings.Cut(mantissa, ".")
	if !onlyDigits(whole) || pointed && !onlyDigits(fraction) || len(whole) > 1 && whole[0] == '0' {
		return "", false
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0", true
	}
	exponent -= int64(len(fraction))
	short := strings.TrimRight(digits, "0")
	exponent += int64(len(digits) - len(short))
	value = short + "e" + strconv.FormatInt(exponent, 10)
	if negative {
		value = "-" + value
	}
	return value, true
}

func parseExponent(text string) (int64, bool) {
	digits := strings.TrimLeft(text, "+-")
	if len(text)-len(digits) > 1 || !onlyDigits(digits) {
		return 0, false
	}
	digits = strings.TrimLeft(digits, "0")
	if len(digits) > 17 { // with room for the digits of the mantissa
		return 0, false
	}
	if digits == "" {
		return 0, true
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if text[0] == '-' {
		n = -n
	}
	return n, err == nil
}

func onlyDigits(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}
