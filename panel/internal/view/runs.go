package view

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/postbus/postbus/ops"
)

// runHeight is a bar's height of 4 to 20: it grows by 3 for every ten times as long as a millisecond.
func runHeight(run ops.Task) int {
	if run.AttemptedAt == nil || run.FinishedAt == nil {
		return 4
	}
	took := run.FinishedAt.Sub(*run.AttemptedAt)
	return min(max(4+int(3*math.Log10(max(float64(took.Microseconds())/1000, 1))), 4), 20)
}

// runsLabel says what the bars show: "the last 20 runs: 19 completed, 1 discarded".
func runsLabel(all []ops.Task) string {
	counts := map[string]int{}
	var states []string
	for _, run := range all {
		if counts[run.State]++; !slices.Contains(states, run.State) {
			states = append(states, run.State)
		}
	}
	slices.Sort(states)
	for i, state := range states {
		states[i] = fmt.Sprintf("%d %s", counts[state], state)
	}
	return fmt.Sprintf("the last %d %s: %s", len(all), plural(int64(len(all)), "run"), strings.Join(states, ", "))
}
