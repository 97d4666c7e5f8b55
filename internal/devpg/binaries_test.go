package devpg

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPackagedBinariesNewestFirst(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for dir, names := range map[string][]string{
		"postgresql/9.6/bin":     {"postgres", "initdb"},
		"postgresql/14/bin":      {"postgres", "initdb"},
		"postgresql/15/bin":      {"postgres", "initdb"},
		"postgresql/17/bin":      {"psql"}, // only a client
		"opt/postgresql@16/bin":  {"postgres", "initdb"},
		"opt/postgresql@old/bin": {"postgres", "initdb"},
	} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(root, dir, name), nil, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	var got []string
	for _, dir := range packagedBinaries([]string{root + "/postgresql/*/bin", root + "/opt/postgresql@*/bin"}) {
		short, err := filepath.Rel(root, dir)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, short)
	}
	want := []string{"opt/postgresql@16/bin", "postgresql/15/bin", "postgresql/14/bin", "postgresql/9.6/bin"}
	if diff := cmp.Diff(want, got[:4]); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
}
