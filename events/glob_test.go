package events

import "testing"

func TestGlobMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		glob, typ string
		want      bool
	}{
		{"*", "corpus.note_changed", true},
		{"corpus.*", "corpus.note_changed", true},
		{"corpus.*", "corpus.note.changed", true},
		{"corpus.*", "corpus", false},
		{"corpus.*", "corpusx.note", false},
		{"corpus.note", "corpus.note", true},
		{"corpus.note", "corpus.note.changed", false},
	} {
		if got := GlobMatches(c.glob, c.typ); got != c.want {
			t.Errorf("GlobMatches(%q, %q) = %v, want %v", c.glob, c.typ, got, c.want)
		}
	}
}

func TestCheckGlob(t *testing.T) {
	t.Parallel()
	for glob, ok := range map[string]bool{
		"*": true, "a.b": true, "a.*": true, "a.b.*": true, "": false, ".*": false, "a*": false, "A.*": false, "*.a": false, "a.*.b": false,
	} {
		if err := CheckGlob(glob); (err == nil) != ok {
			t.Errorf("CheckGlob(%q) = %v, want accepted %v", glob, err, ok)
		}
	}
}
