package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/ops"
	opscli "github.com/postbus/postbus/ops/cli"
	"github.com/postbus/postbus/pg"
)

// captureFailed tells what went wrong as the operations do.
func captureFailed(err error) error {
	var refused *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, events.ErrUndeclaredType):
		return opscli.Usage(fmt.Errorf("%w: declare it first, with postbus events declare-type --name TYPE", err))
	case pg.IsUnavailable(err):
		return unreachable(err)
	case errors.As(err, &refused) && refused.Code == "42501":
		return &ops.Error{Code: ops.Forbidden, Message: "the database refuses: " + refused.Message + ": connect as the table's owner, which must be allowed to create in schema postbus"}
	case errors.As(err, &refused) && refused.Code == "55P03":
		return &ops.Error{Code: ops.Conflict, Message: "a transaction has kept the table for 5 s: try again when it has ended"}
	}
	if told := ops.Explain(err); told.Code != ops.Internal {
		return told
	}
	return err
}

// tell says what was done or, in a dry run, the SQL that would do it.
func (c *capture) tell(w io.Writer, did events.CaptureChange) error {
	switch {
	case c.asJSON:
		return printJSON(w, did)
	case c.dryRun && len(did.SQL) > 0:
		all := slices.Concat([]string{"begin"}, did.SQL, []string{"commit"})
		_, err := fmt.Fprintf(w, "-- %s would be %s\n%s;\n", did.Capture.Name, did.Did, strings.Join(all, ";\n"))
		return err
	}
	_, err := fmt.Fprintf(w, "%s: %s on %s: %s; owner %s, subject %s\n",
		did.Did, did.Capture.Name, did.Capture.Table, records(did.Capture), did.Capture.Owner, did.Capture.Subject)
	return err
}

func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func listCaptures(w io.Writer, all []events.InstalledCapture) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "none")
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "NAME\tTABLE\tRECORDS\tWATCH\tBY\tENABLED") // Flush has the error
	for _, i := range all {
		i.Declared.On = i.On
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%t\n", i.Name, orDash(i.Table), records(i.Declared), orDash(strings.Join(i.Declared.Watch, ",")),
			orDash(i.App), i.Enabled)
	}
	return tw.Flush()
}

// records says what is recorded for which operation.
func records(c events.Capture) string {
	on := c.On
	if len(on) == 0 {
		on = []events.Op{events.Insert, events.Update, events.Delete}
	}
	var parts []string
	for _, op := range on {
		name, own := c.Types[op]
		if !own {
			name = orDash(c.Type)
		}
		parts = append(parts, string(op)+"="+name)
	}
	return orDash(strings.Join(parts, ","))
}
