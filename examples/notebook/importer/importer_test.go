package importer_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/examples/notebook/importer"
	"github.com/postbus/postbus/examples/notebook/note"
	"github.com/postbus/postbus/internal/testdb"
)

func TestMain(m *testing.M) {
	testdb.Run(m, func(ctx context.Context, pool *pgxpool.Pool) error { return note.NewStore(pool).Migrate(ctx) })
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A file that cannot be a note is reported with its reason and counted, and costs no other file.
func TestBadFilesCostNoOther(t *testing.T) {
	t.Parallel()
	store := note.NewStore(testdb.New(t))
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"a.md": "# A\n", "sub/B.MARKDOWN": "\ufeff# B\r\n", "empty.md": "", "c.txt": "no", ".git/d.md": "# D",
		"nul.md": "# N\x00", "latin.md": "\xe9t\xe9", "huge.md": strings.Repeat("x", note.MaxBody+1),
	})
	if err := os.Mkdir(filepath.Join(dir, "folder.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling.md")); err != nil {
		t.Fatal(err)
	}
	report, err := importer.Importer{Notes: store, Owner: "me"}.Folder(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("7 files: 3 created, 0 changed, 0 unchanged, 4 skipped", report.String()); diff != "" {
		t.Error(diff)
	}
	why := map[string]string{}
	for _, s := range report.Skipped {
		why[filepath.Base(s.Path)] = s.Why
	}
	for file, want := range map[string]string{
		"nul.md": "NUL at byte 3", "latin.md": "not valid UTF-8", "huge.md": "the limit is", "dangling.md": "no such file",
	} {
		if !strings.Contains(why[file], want) {
			t.Errorf("%s: skipped because %q, want %q", file, why[file], want)
		}
	}
}

func TestAFolderWithNothingToImportIsAnError(t *testing.T) {
	t.Parallel()
	im := importer.Importer{Notes: note.NewStore(testdb.New(t)), Owner: "me"}
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.txt": "text"})
	for folder, want := range map[string]string{
		dir: "no Markdown files", filepath.Join(dir, "missing"): "no such file", filepath.Join(dir, "a.txt"): "not a directory",
	} {
		if _, err := im.Folder(t.Context(), folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", folder, err, want)
		}
	}
}
