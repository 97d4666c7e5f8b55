package letter

import (
	"errors"
	"fmt"
	html "html/template"
	"io"
	"strings"
	text "text/template"
	"text/template/parse"
	"time"
)

// MaxSource is how long a template may be, in bytes.
const MaxSource = 64 << 10

// bounds of one execution.
const (
	maxTicks = 100_000
	maxTime  = 2 * time.Second
)

// Templates are a mail's, parsed and checked.
type Templates struct {
	subject, text *text.Template
	html          *html.Template // nil where there is none
}

// Parse checks the templates of a mail. html may be "".
func Parse(subject, plain, rich string) (*Templates, error) {
	t := &Templates{}
	var err error
	if t.subject, err = parseText("subject", subject); err != nil {
		return nil, err
	}
	if t.text, err = parseText("text", plain); err != nil {
		return nil, err
	}
	if strings.TrimSpace(subject) == "" || strings.TrimSpace(plain) == "" {
		return nil, errors.New("subject and text must not be empty")
	}
	if rich == "" {
		return t, nil
	}
	if t.html, err = parseHTML(rich); err != nil {
		return nil, err
	}
	// html/template finds out while it runs that a template has no meaning in HTML: let it do so now.
	err = executeHTML(t.html, io.Discard, Fields{Data: map[string]any{}})
	var told *html.Error
	if errors.As(err, &told) {
		return nil, fmt.Errorf("html: %s", told.Description)
	}
	return t, nil
}

func parseText(name, source string) (*text.Template, error) {
	if err := checkSource(name, source); err != nil {
		return nil, err
	}
	t, err := text.New(name).Funcs(functions(nil)).Parse(source)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", name, shorter(err))
	}
	if len(t.Templates()) > 1 {
		return nil, fmt.Errorf("%s: define is not allowed: a template has no parts of its own", name)
	}
	if t.Tree == nil {
		return t, nil
	}
	return t, guarded(name, t.Tree)
}

func parseHTML(source string) (*html.Template, error) {
	const name = "html"
	if err := checkSource(name, source); err != nil {
		return nil, err
	}
	t, err := html.New(name).Funcs(functions(nil)).Parse(source)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", name, shorter(err))
	}
	if len(t.Templates()) > 1 {
		return nil, fmt.Errorf("%s: define is not allowed: a template has no parts of its own", name)
	}
	if t.Tree == nil {
		return nil, errors.New("html: it has nothing in it")
	}
	return t, guarded(name, t.Tree)
}

func checkSource(name, source string) error {
	if len(source) > MaxSource {
		return fmt.Errorf("%s has %d bytes; the limit is %d", name, len(source), MaxSource)
	}
	if strings.Contains(source, tickName) || strings.Contains(source, showName) {
		return fmt.Errorf("%s: names that begin with postbus are not for templates", name)
	}
	return nil
}

// guarded bounds a tree in place.
func guarded(name string, tree *parse.Tree) error {
	own := text.Must(text.New("").Funcs(functions(nil)).Parse("{{$postbus := " + tickName + "}}{{0 | " + showName + "}}")).Root.Nodes
	g := guard{tick: own[0], show: own[1].(*parse.ActionNode).Pipe.Cmds[1]}
	if err := g.list(tree.Root); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// shorter is a parser's error without the names of its package.
func shorter(err error) string { return strings.TrimPrefix(err.Error(), "template: ") }

// Letter is what a mail says.
type Letter struct {
	Subject, Text string
	HTML          string // "" for none
}

// Render makes a letter. Neither body is longer than most bytes; the subject is cut. Its errors are faults of the template or of what it
// met, and would come again.
func (t *Templates) Render(fields Fields, most int) (Letter, error) {
	var l Letter
	subject := &sink{most: 4 * MaxSubject}
	err := executeText(t.subject, subject, fields)
	if err != nil && !subject.full {
		return l, subject.explain("subject", err)
	}
	if l.Subject = Line(subject.text.String(), MaxSubject); l.Subject == "" {
		l.Subject = Line(fields.Type, MaxSubject)
	}
	body := &sink{most: most}
	if err := executeText(t.text, body, fields); err != nil {
		return l, body.explain("text", err)
	}
	l.Text = body.text.String()
	if t.html == nil {
		return l, nil
	}
	rich := &sink{most: most}
	if err := executeHTML(t.html, rich, fields); err != nil {
		return l, rich.explain("html", err)
	}
	l.HTML = rich.text.String()
	return l, nil
}

func executeText(t *text.Template, w io.Writer, fields Fields) error {
	own, err := t.Clone()
	if err != nil {
		return err
	}
	return own.Funcs(functions(newBudget())).Execute(w, fields)
}

// executeHTML runs a copy: a template that has run cannot be copied any more.
func executeHTML(t *html.Template, w io.Writer, fields Fields) error {
	own, err := t.Clone()
	if err != nil {
		return err
	}
	return own.Funcs(functions(newBudget())).Execute(w, fields)
}
