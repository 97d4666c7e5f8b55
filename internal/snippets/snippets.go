package snippets

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Block is one fenced block of a document.
type Block struct {
	Heading string // the nearest heading above it, without the #s
	Lang    string // behind the fence, or ""
	Text    string // with the newline at its end
}

var named = regexp.MustCompile(`^(?:<\?php )?(?:#|//|--) ([A-Za-z]+\.[a-z]+)\n`)

// File is the name under which the reader saves the block, or "".
func (b Block) File() string {
	if found := named.FindStringSubmatch(b.Text); found != nil {
		return found[1]
	}
	return ""
}

// Doc is a document.
type Doc []Block

// Read reads the blocks of a Markdown file. A fence that is not closed is an error.
func Read(path string) (Doc, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var doc Doc
	var block Block
	heading, open := "", false
	for line := range strings.Lines(string(raw)) {
		fence, fenced := strings.CutPrefix(strings.TrimRight(line, "\n"), "```")
		switch {
		case open && fenced:
			doc, open = append(doc, block), false
		case open:
			block.Text += line
		case fenced:
			block, open = Block{Heading: heading, Lang: fence}, true
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
	}
	if open {
		return nil, fmt.Errorf("%s: the last fence is not closed", path)
	}
	return doc, nil
}

// Under answers the blocks of a language that stand directly under a heading.
func (d Doc) Under(heading, lang string) []string {
	var texts []string
	for _, b := range d {
		if b.Heading == heading && b.Lang == lang {
			texts = append(texts, b.Text)
		}
	}
	return texts
}

// Files answers the files of the document by name.
func (d Doc) Files() map[string]string {
	files := map[string]string{}
	for _, b := range d {
		if name := b.File(); name != "" {
			files[name] = b.Text
		}
	}
	return files
}
