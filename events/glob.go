package events

import (
	"fmt"
	"strings"
)

// A glob is "*" (every type), a type's whole name, or a dotted prefix and ".*" ("corpus.*" matches "corpus.note_changed"
// and "corpus.note.changed", not "corpus").
func globMatches(glob, typ string) bool {
	if glob == "*" {
		return true
	}
	if prefix, ok := strings.CutSuffix(glob, "*"); ok {
		return strings.HasPrefix(typ, prefix) && len(typ) > len(prefix)
	}
	return glob == typ
}

func checkGlob(glob string) error {
	if glob == "*" {
		return nil
	}
	name, _ := strings.CutSuffix(glob, ".*")
	if checkTypeName(name) != nil {
		return fmt.Errorf("%w: glob %q: use a type's name, a dotted prefix and \".*\", or \"*\"", ErrInvalid, glob)
	}
	return nil
}

// CheckGlob refuses a text that is no glob over event types.
func CheckGlob(glob string) error { return checkGlob(glob) }

// GlobMatches says whether a glob matches a type.
func GlobMatches(glob, typ string) bool { return globMatches(glob, typ) }

func anyGlobMatches(globs []string, typ string) bool {
	for _, glob := range globs {
		if globMatches(glob, typ) {
			return true
		}
	}
	return false
}
