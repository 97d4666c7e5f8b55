package markdown_test

import (
	"strings"
	"testing"

	"github.com/postbus/postbus/examples/notebook/markdown"
)

func TestTitleIsTheFirstHeadingsWords(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"# Plain": "Plain",
		"intro\n\n# Some `code` *here* #\n\n# Second":            "Some code here",
		"Under\nlined\n===\n":                                    "Under lined",
		"```\n# not a heading\n```\n\n# Real":                    "Real",
		"# River [![Build](https://x/y.svg)](https://x) ![b](c)": "River",
		"# snake\\_case & more":                                  "snake_case & more",
		"## Second level only":                                   "",
		"":                                                       "",
	} {
		if got := markdown.Title(source); got != want {
			t.Errorf("Title(%q) = %q, want %q", source, got, want)
		}
	}
}

// The HTML holds no raw HTML of the text's, no scripts, and nothing that a browser would fetch from another site.
func TestHTMLIsHarmless(t *testing.T) {
	t.Parallel()
	html, err := markdown.HTML("# T\n\nsee <script>x()</script> <b onclick=x>b</b> [a](javascript:x) ![p](https://e.example/p.png)"+
		" [![q](https://e.example/q.png)](https://e.example) <https://ok.example>\n\n<iframe src=//e.example></iframe>\n\n\"><img src=x>", "T")
	if err != nil {
		t.Fatal(err)
	}
	for _, never := range []string{"<script", "<b ", "javascript:", "<img", "<iframe", "<h1"} {
		if strings.Contains(string(html), never) {
			t.Errorf("holds %q:\n%s", never, html)
		}
	}
	if !strings.Contains(string(html), `href="https://e.example/p.png"`) {
		t.Errorf("the image is no link:\n%s", html)
	}
}
