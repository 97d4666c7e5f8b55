package opscli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/postbus/postbus/ops"
)

// format is how answers are printed.
type format string

func formats() []string { return []string{"table", "json", "jsonl"} }

// String implements pflag.Value.
func (f *format) String() string { return string(*f) }

// Type implements pflag.Value.
func (f *format) Type() string { return "format" }

// Set implements pflag.Value.
func (f *format) Set(text string) error {
	if !slices.Contains(formats(), text) {
		return fmt.Errorf("use one of %s", strings.Join(formats(), ", "))
	}
	*f = format(text)
	return nil
}

// printer prints answers.
type printer struct {
	format     format
	out, hints io.Writer
}

// dryRun shows what would be done and refuses to.
func (p printer) dryRun(dry *ops.DryRun) error {
	preview, err := json.Marshal(dry.Preview)
	if err != nil {
		return fmt.Errorf("print the dry run: %w", err)
	}
	if err := p.answer(preview); err != nil {
		return err
	}
	return &ops.Error{Code: ops.Conflict, Message: "refused: add --yes"}
}

func (p printer) answer(raw json.RawMessage) error {
	list, isList := listOf(raw)
	var text bytes.Buffer
	var err error
	switch {
	case p.format == "json":
		err = json.Indent(&text, raw, "", "  ")
		text.WriteByte('\n')
	case p.format == "jsonl":
		err = lines(&text, raw, list, isList)
	case isList:
		err = table(&text, list.Items)
	default:
		err = record(&text, raw)
	}
	if err == nil {
		_, err = p.out.Write(text.Bytes())
	}
	if err == nil && list.Next != "" && p.format != "json" {
		_, err = fmt.Fprintln(p.hints, "more: --cursor", printable(list.Next))
	}
	if err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	return nil
}

// page is what lists answer.
type page struct {
	Items []json.RawMessage `json:"items"`
	Next  string            `json:"next"`
}

// listOf reads a page; an answer without items, or with more beside them, is none.
func listOf(raw json.RawMessage) (page, bool) {
	var list page
	members, err := membersOf(raw)
	if err != nil || !slices.ContainsFunc(members, func(m member) bool { return m.key == "items" }) {
		return page{}, false
	}
	for _, m := range members {
		if m.key != "items" && m.key != "next" && m.key != "$schema" {
			return page{}, false
		}
	}
	return list, json.Unmarshal(raw, &list) == nil
}

func lines(w *bytes.Buffer, raw json.RawMessage, list page, isList bool) error {
	values := []json.RawMessage{raw}
	if isList {
		values = list.Items
	}
	for _, value := range values {
		if err := json.Compact(w, value); err != nil {
			return err
		}
		w.WriteByte('\n')
	}
	return nil
}
