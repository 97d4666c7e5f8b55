package events

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// An alert is told for each thing that it is about, up to a bound; beyond it nothing is taken for gone.
func TestFindingTellsOfEachThing(t *testing.T) {
	t.Parallel()
	f := finding{crowded: map[string]bool{}}
	var many []string
	for i := range mostAbout + 5 {
		many = append(many, fmt.Sprint("kind", i))
	}
	f.add(Alert{Name: "whole", Count: 7, Message: strings.Repeat("é", maxAlertText)})
	f.add(Alert{Name: "few", About: many[:2]})
	f.add(Alert{Name: "many", About: many})
	about := map[string]int{}
	for _, s := range f.standing {
		about[s.name]++
		if len(s.message) > maxAlertText+len("…") || !utf8.ValidString(s.message) {
			t.Errorf("a message of %d bytes", len(s.message))
		}
	}
	if about["whole"] != 1 || about["few"] != 2 || about["many"] != mostAbout || f.standing[0].about != "" {
		t.Errorf("told of %v", about)
	}
	if f.crowded["few"] || !f.crowded["many"] {
		t.Errorf("crowded: %v", f.crowded)
	}
}
