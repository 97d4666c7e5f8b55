package lint_test

import (
	"testing"

	"github.com/postbus/postbus/lint"
)

// The tree, with its examples and measurements, keeps the rules that it offers.
func TestTree(t *testing.T) {
	t.Parallel()
	found, err := lint.Dir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}
}
