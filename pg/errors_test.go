package pg_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/postbus/postbus/pg"
)

func TestErrorPredicates(t *testing.T) {
	t.Parallel()
	state := func(code string) error { return fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code}) }
	tests := []struct {
		err              error
		row, unavailable bool
	}{
		{nil, false, false},
		{errors.New("something else"), false, false},
		{state("22P05"), true, false},
		{state("23505"), true, false},
		{state("P0001"), true, false},
		{state("P0002"), false, false},
		{state("42501"), false, false},
		{state("42P01"), false, false},
		{state("08006"), false, true},
		{state("25006"), false, true},
		{state("40001"), false, true},
		{state("40P01"), false, true},
		{state("53300"), false, true},
		{state("55P03"), false, true},
		{state("57P01"), false, true},
		{state("58030"), false, true},
		{fmt.Errorf("read: %w", io.ErrUnexpectedEOF), false, true},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, false, true},
		{fmt.Errorf("commit: %w", pgconn.ErrConnClosed), false, true},
		{context.DeadlineExceeded, false, true},
		{context.Canceled, false, false},
	}
	for _, test := range tests {
		if got := pg.IsRowFault(test.err); got != test.row {
			t.Errorf("IsRowFault(%v) = %t", test.err, got)
		}
		if got := pg.IsUnavailable(test.err); got != test.unavailable {
			t.Errorf("IsUnavailable(%v) = %t", test.err, got)
		}
	}
}
