package opscli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// none stands for a value that is not there.
const none = "-"

// table prints the scalar fields of objects in columns, in the order in which they come. What is no object is a line.
func table(w io.Writer, items []json.RawMessage) error {
	if len(items) == 0 {
		_, err := fmt.Fprintln(w, "none")
		return err
	}
	var columns []string
	rows := make([]map[string]string, len(items))
	for i, item := range items {
		members, err := membersOf(item)
		if err != nil {
			members = []member{{"value", item}}
		}
		rows[i] = map[string]string{}
		for _, m := range members {
			text, ok := scalar(m.value)
			if !ok {
				continue
			}
			rows[i][m.key] = text
			if !slices.Contains(columns, m.key) {
				columns = append(columns, m.key)
			}
		}
	}
	return align(w, columns, rows)
}

func align(w io.Writer, columns []string, rows []map[string]string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	heads := make([]string, len(columns))
	for i, column := range columns {
		heads[i] = strings.ToUpper(printable(column))
	}
	_, _ = fmt.Fprintln(tw, strings.Join(heads, "\t")) // Flush has the error
	for _, row := range rows {
		cells := make([]string, len(columns))
		for i, column := range columns {
			cells[i] = none
			if text, ok := row[column]; ok {
				cells[i] = text
			}
		}
		_, _ = fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	return tw.Flush()
}

// record prints one object: a line for each field, then its lists of objects as tables.
func record(w io.Writer, raw json.RawMessage) error {
	members, err := membersOf(raw)
	if err != nil {
		_, err := fmt.Fprintln(w, printable(string(raw)))
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var lists []member
	for _, m := range members {
		switch text, ok := scalar(m.value); {
		case ok:
			_, _ = fmt.Fprintf(tw, "%s\t%s\n", printable(m.key), text)
		case isObjects(m.value):
			lists = append(lists, m)
		default:
			_, _ = fmt.Fprintf(tw, "%s\t%s\n", printable(m.key), compact(m.value))
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, m := range lists {
		var items []json.RawMessage
		if err := json.Unmarshal(m.value, &items); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(w, "\n%s:\n", printable(m.key))
		if err := table(w, items); err != nil {
			return err
		}
	}
	return nil
}

// isObjects says that raw is a list of objects.
func isObjects(raw json.RawMessage) bool {
	var items []map[string]json.RawMessage
	return raw[0] == '[' && json.Unmarshal(raw, &items) == nil && len(items) > 0
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return printable(string(raw))
	}
	return printable(b.String())
}
