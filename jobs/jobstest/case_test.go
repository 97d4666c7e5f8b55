package jobstest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEveryCaseStatesItsSentence(t *testing.T) {
	t.Parallel()
	id := regexp.MustCompile(`^[a-z]+/[a-z]+(-[a-z]+)*$`)
	seen := map[string]bool{}
	for _, c := range Cases() {
		if !id.MatchString(c.ID()) || seen[c.ID()] {
			t.Errorf("case %q: an ID is topic/dashed-words and unique", c.ID())
		}
		seen[c.ID()] = true
		if len(c.Sentence) < 20 || !strings.HasSuffix(c.Sentence, ".") || c.run == nil {
			t.Errorf("case %s: state the promise as a sentence and check it: %q", c.ID(), c.Sentence)
		}
		if c.Needs != "" && !slices.Contains(Capabilities(), c.Needs) {
			t.Errorf("case %s needs %q, which no adapter can declare that it lacks", c.ID(), c.Needs)
		}
	}
}
