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
			rows[i][m.key] = cut(text)
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

// record prints one object: a line for each field, those of objects in it by their path, then its lists of objects as tables.
func record(w io.Writer, raw json.RawMessage) error {
	members, err := membersOf(raw)
	if err != nil {
		_, err := fmt.Fprintln(w, printable(string(raw)))
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	lists := fields(tw, "", members)
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, m := range lists {
		var items []json.RawMessage
		if err := json.Unmarshal(m.value, &items); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(w, "\n%s:\n", m.key) // table has the error
		if err := table(w, items); err != nil {
			return err
		}
	}
	return nil
}

// fields prints a line for each field and answers the lists of objects, which are left.
func fields(w io.Writer, path string, members []member) (lists []member) {
	for _, m := range members {
		name := path + printable(m.key)
		if text, ok := scalar(m.value); ok {
			_, _ = fmt.Fprintf(w, "%s\t%s\n", name, text)
			continue
		}
		if isObjects(m.value) {
			lists = append(lists, member{name, m.value})
			continue
		}
		if inner, err := membersOf(m.value); err == nil && len(inner) > 0 {
			lists = append(lists, fields(w, name+".", inner)...)
			continue
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\n", name, compact(m.value))
	}
	return lists
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
	if text := b.String(); text != "[]" && text != "{}" {
		return printable(text)
	}
	return none
}
