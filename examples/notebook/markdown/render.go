package markdown

import (
	"bytes"
	"html/template"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// HTML renders a text. A heading at its beginning that says what the title says is left out. goldmark, without its unsafe
// option, leaves raw HTML and javascript: addresses out, so that the answer may go into a page as it is.
func HTML(source, title string) (template.HTML, error) {
	md := newMarkdown()
	raw := []byte(source)
	doc := md.Parser().Parse(text.NewReader(raw))
	if h, ok := doc.FirstChild().(*ast.Heading); ok && words(h, raw) == title {
		doc.RemoveChild(doc, h)
	}
	var buf bytes.Buffer
	if err := md.Renderer().Render(&buf, raw, doc); err != nil {
		return "", err
	}
	return template.HTML(buf.String()), nil
}

// Title answers the words of the first heading of the first level, or "".
func Title(source string) string {
	raw := []byte(source)
	doc := newMarkdown().Parser().Parse(text.NewReader(raw))
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level == 1 {
			return words(h, raw)
		}
	}
	return ""
}

func newMarkdown() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.GFM),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(imagesAsLinks{}, 100))),
	)
}

// words are a node's plain text; badges and other pictures in links say nothing.
func words(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			if _, picture := n.AttributeString(wasImage); picture {
				return ast.WalkSkipChildren, nil
			}
		case *ast.Text:
			b.Write(n.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(string(util.UnescapePunctuations([]byte(b.String())))), " ")
}
