package opscli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/postbus/postbus/ops"
)

// usagef is the error of a call that cannot be meant: exit status 2.
func usagef(format string, args ...any) error {
	return &ops.Error{Code: ops.Invalid, Message: fmt.Sprintf(format, args...)}
}

// Usage makes err one of a call that cannot be meant.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return usagef("%s", err)
}

// Report tells an error in one line, the faults of fields below it, and answers the exit status.
func Report(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	var told *ops.Error
	if !errors.As(err, &told) {
		_, _ = fmt.Fprintln(w, "postbus:", strings.TrimPrefix(oneLine(err.Error()), "postbus: "))
		return 1
	}
	_, _ = fmt.Fprintln(w, "postbus:", strings.TrimPrefix(oneLine(told.Message), "postbus: "))
	for _, f := range told.Fields {
		if f.Field != "" {
			f.Message = f.Field + ": " + f.Message
		}
		_, _ = fmt.Fprintln(w, " ", oneLine(f.Message))
	}
	return told.Code.Exit()
}

func oneLine(text string) string { return printable(strings.Join(strings.Fields(text), " ")) }
