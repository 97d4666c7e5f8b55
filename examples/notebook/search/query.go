package search

import (
	"context"
	"fmt"
	"html"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search/query"
)

const (
	fieldTitle   = "title"
	fieldBody    = "body"
	fieldPath    = "path"
	fieldVersion = "version"
	fieldDeleted = "deleted"
)

// stored is the form of a document in the index. A tombstone has no text, so that no word finds it.
type stored struct {
	Title   string `json:"title"`
	Body    string `json:"body"`
	Path    string `json:"path"`
	Version int64  `json:"version"`
	Deleted bool   `json:"deleted"`
}

func record(w write) stored {
	if w.deleted {
		return stored{Version: w.doc.Version, Deleted: true}
	}
	return stored{Title: w.doc.Title, Body: w.doc.Body, Path: w.doc.Path, Version: w.doc.Version}
}

// analyzer keeps every word, the short and common ones too: whoever looks for "To be or not to be" finds it.
const analyzer = "words"

func newMapping() (mapping.IndexMapping, error) {
	m := bleve.NewIndexMapping()
	err := m.AddCustomAnalyzer(analyzer, map[string]any{
		"type": custom.Name, "tokenizer": unicode.Name, "token_filters": []string{lowercase.Name},
	})
	if err != nil {
		return nil, err
	}
	path := bleve.NewTextFieldMapping()
	path.Store, path.IncludeTermVectors = false, false
	doc := bleve.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt(fieldTitle, bleve.NewTextFieldMapping())
	doc.AddFieldMappingsAt(fieldBody, bleve.NewTextFieldMapping())
	doc.AddFieldMappingsAt(fieldPath, path)
	doc.AddFieldMappingsAt(fieldVersion, bleve.NewNumericFieldMapping())
	doc.AddFieldMappingsAt(fieldDeleted, bleve.NewBooleanFieldMapping())
	doc.AddSubDocumentMapping("_all", bleve.NewDocumentDisabledMapping())
	m.DefaultAnalyzer, m.DefaultMapping = analyzer, doc
	return m, nil
}

// Search answers the documents that hold every word of the text, those with the words in their title first.
func (x *Index) Search(ctx context.Context, q Query) (Result, error) {
	req := bleve.NewSearchRequestOptions(x.build(q), limitOf(q.Limit), 0, false)
	req.Highlight = bleve.NewHighlightWithStyle("html")
	req.Highlight.Fields = []string{fieldTitle, fieldBody}
	req.Fields = []string{fieldTitle}
	found, err := x.bleve.SearchInContext(ctx, req)
	if err != nil {
		return Result{}, fmt.Errorf("search for %q: %w", q.Text, err)
	}
	result := Result{Total: found.Total, Hits: []Hit{}}
	for _, h := range found.Hits {
		hit := Hit{ID: h.ID, Score: h.Score, Title: spans(h.Fragments[fieldTitle]), Body: spans(h.Fragments[fieldBody])}
		if title, _ := h.Fields[fieldTitle].(string); len(hit.Title) == 0 {
			hit.Title = []Span{{Text: title}}
		}
		result.Hits = append(result.Hits, hit)
	}
	return result, nil
}

func limitOf(n int) int {
	if n <= 0 {
		return 20
	}
	return min(n, 100)
}

// build asks for every word in any of the fields. (bleve's own field of all fields would do the same, and index every text
// twice.)
func (x *Index) build(q Query) query.Query {
	var must []query.Query
	for _, token := range x.bleve.Mapping().AnalyzerNamed(analyzer).Analyze([]byte(q.Text)) {
		anywhere := bleve.NewDisjunctionQuery()
		for _, field := range []string{fieldTitle, fieldBody, fieldPath} {
			word := bleve.NewTermQuery(string(token.Term))
			word.SetField(field)
			if field == fieldTitle {
				word.SetBoost(3)
			}
			anywhere.AddQuery(word)
		}
		must = append(must, anywhere)
	}
	if len(must) == 0 {
		return bleve.NewMatchNoneQuery()
	}
	if q.ID != "" {
		must = append(must, bleve.NewDocIDQuery([]string{q.ID}))
	}
	return bleve.NewConjunctionQuery(must...)
}

// spans reads the highlighter's fragments (escaped HTML with <mark>) back into plain text.
func spans(fragments []string) []Span {
	var out []Span
	for _, part := range strings.SplitAfter(strings.Join(fragments, " … "), "</mark>") {
		plain, marked, _ := strings.Cut(part, "<mark>")
		if plain != "" {
			out = append(out, Span{Text: html.UnescapeString(plain)})
		}
		if marked = strings.TrimSuffix(marked, "</mark>"); marked != "" {
			out = append(out, Span{Text: html.UnescapeString(marked), Mark: true})
		}
	}
	return out
}
