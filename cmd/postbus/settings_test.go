package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// Nothing that may be a secret is shown.
func TestMaskURL(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                                 "",
		"postgres://db/postbus":            "postgres://db/postbus",
		"postgres://me@db/x?sslmode=allow": "postgres://me@db/x?sslmode=allow",
		"postgres://me:s3cret@db:1/x?a=b":  "postgres://me:(masked)@db:1/x?a=b",
		"postgres://db/x?user=me&password=s3cret": "postgres://:(masked)@db/x",
		"postgresql://me:s3%zzcret@db/x":          masked,
		"host=db password=s3cret":                 masked,
	} {
		if got := maskURL(given); got != want || strings.Contains(got, "s3cret") {
			t.Errorf("%s is shown as %s, want %s", given, got, want)
		}
	}
}

func TestStartMayPass(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{"57P03": true, "3D000": true, "28P01": true, "28000": true, "42501": false, "42P01": false} {
		if got := mayPass(fmt.Errorf("start: %w", &pgconn.PgError{Code: code})); got != want {
			t.Errorf("%s: %t, want %t", code, got, want)
		}
	}
	if mayPass(errors.New("a mistake in the settings")) {
		t.Error("a mistake is waited for")
	}
}
