package chaos

import (
	"path"
	"strings"
	"testing"
)

// Each plant still finds its text in the product's source, and what it makes of it compiles.
func TestPlantsApplyAndCompile(t *testing.T) {
	t.Parallel()
	root, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range Plants() {
		t.Run(p.Name, func(t *testing.T) {
			overlay, err := p.overlay(root, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			packages := map[string]bool{}
			args := []string{}
			for _, e := range p.edits {
				if dir := "./" + path.Dir(e.file); !packages[dir] {
					packages[dir], args = true, append(args, dir)
				}
			}
			if err := goBuild(t.Context(), root, overlay, args...); err != nil {
				t.Error(err)
			}
		})
	}
}

// A text that is not in the source any more is said, not skipped.
func TestPlantSaysThatItsTextIsGone(t *testing.T) {
	t.Parallel()
	root, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := Plant{Name: "old", edits: []edit{{passFile, "a text that was never there", "", 1}}}
	if _, err := p.overlay(root, t.TempDir()); err == nil || !strings.Contains(err.Error(), "a text that was never there") {
		t.Errorf("error = %v", err)
	}
	if _, err := plantNamed("none"); err == nil || !strings.Contains(err.Error(), "cursor") {
		t.Errorf("error = %v, want one that names the plants", err)
	}
}

// The clock of this Go version can be put off.
func TestClockOverlayApplies(t *testing.T) {
	t.Parallel()
	if _, err := clockOverlay(t.Context(), t.TempDir()); err != nil {
		t.Error(err)
	}
}
