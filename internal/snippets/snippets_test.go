package snippets_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/internal/snippets"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "doc.md")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A block's text is what a reader copies, to the byte; a file is known by its first line.
func TestRead(t *testing.T) {
	t.Parallel()
	doc, err := snippets.Read(write(t, "# One\n\n```sh\necho  1\n\n# no heading\n```\n## Two\n```php\n<?php // a.php\n1;\n```\n```\n// b.js: not a name alone\n```\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := snippets.Doc{
		{Heading: "One", Lang: "sh", Text: "echo  1\n\n# no heading\n"},
		{Heading: "Two", Lang: "php", Text: "<?php // a.php\n1;\n"},
		{Heading: "Two", Text: "// b.js: not a name alone\n"},
	}
	if diff := cmp.Diff(want, doc); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"a.php": "<?php // a.php\n1;\n"}, doc.Files()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"echo  1\n\n# no heading\n"}, doc.Under("One", "sh")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestReadRefusesAnOpenFence(t *testing.T) {
	t.Parallel()
	if doc, err := snippets.Read(write(t, "```sh\necho\n")); err == nil {
		t.Errorf("it answers %v", doc)
	}
}
