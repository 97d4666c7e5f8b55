// Package markdown reads the title of a Markdown text and renders it for a page.
//
// What it promises: the HTML holds no raw HTML of the text's, no scripts, and nothing that a browser would fetch from
// another site.
package markdown
