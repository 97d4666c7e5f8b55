package pg

import (
	"errors"
	"io"
	"net"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
)

// IsRowFault says that the database refused the data of a statement: SQLSTATE class 22 (data
// exception), class 23 (constraint violation), or P0001 (raised by a function or trigger). The
// same statement would fail again, another row need not.
func IsRowFault(err error) bool {
	code := sqlState(err)
	return code == "P0001" || inClass(code, "22", "23")
}

// IsUnavailable says that the failure is the database's or the network's and may pass: SQLSTATE
// classes 08 (connection), 25 (transaction state, such as a server that is read-only after a
// failover), 40 (serialization, deadlock), 53 (resources), 55 (object in use, lock timeout),
// 57 (shutdown, cancel) and 58 (system), a connection that broke or was refused, and a time-out.
// A cancelled context does not count: that was the caller.
func IsUnavailable(err error) bool {
	if code := sqlState(err); code != "" {
		return inClass(code, "08", "25", "40", "53", "55", "57", "58")
	}
	var netErr net.Error // a context's deadline is one, too
	var connectErr *pgconn.ConnectError
	return errors.As(err, &netErr) || errors.As(err, &connectErr) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed)
}

// sqlState returns the five letters of the database's error, "" where it is none.
func sqlState(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

func inClass(code string, classes ...string) bool {
	return len(code) == 5 && slices.Contains(classes, code[:2])
}
