package snippets_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postbus/postbus/internal/snippets"
)

// around is what stands around the README's pieces of Go in a reader's program, in the order of the pieces.
const around = `package readme

import (
	"context"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/pg"
	"github.com/postbus/postbus/webhooks"
)

func sendReceipt(context.Context, string, string) error { return nil }

func application(ctx context.Context, pool *pgxpool.Pool, owner, id string, total int) error {
%s
	return err
}

var _ = postbus.Config{
%s
}

var _ = postbus.Config{
%s
}

func endpoint(ctx context.Context, bus *postbus.Bus) (string, error) {
%s
	return made.Secret, err
}

var _, _ = application, endpoint
`

// The Go that the README shows compiles, and go vet finds nothing in it.
func TestReadmeCompiles(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := snippets.Read(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pieces := doc.Under("Quick start: in a Go application", "go")
	if len(pieces) != 4 {
		t.Fatalf("%d pieces of Go, want 4: what stands around them is written here", len(pieces))
	}
	cmd := exec.CommandContext(t.Context(), "go", "vet", ".")
	cmd.Dir = t.TempDir()
	text := fmt.Sprintf(around, pieces[0], pieces[1], pieces[2], pieces[3])
	for name, content := range map[string]string{"go.mod": moduleOn(t, root), "go.sum": read(t, root, "go.sum"), "readme.go": text} {
		if err := os.WriteFile(filepath.Join(cmd.Dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go vet: %v\n%s\n%s", err, out, text)
	}
}

// moduleOn is the go.mod of a module that uses the tree in root, and asks for nothing that the tree does not.
func moduleOn(t *testing.T, root string) string {
	t.Helper()
	const tree = "github.com/postbus/postbus"
	ours := strings.Replace(read(t, root, "go.mod"), "module "+tree+"\n", "module readme\n", 1)
	return fmt.Sprintf("%s\nrequire %s v0.0.0\nreplace %s => %s\n", ours, tree, tree, root)
}

func read(t *testing.T, root, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
