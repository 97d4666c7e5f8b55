package main

import (
	"fmt"
	"strings"
)

// result is what a case came to.
type result struct {
	states, steps int
	intervals     float64 // the longest wait, where time is counted
	broken        string  // what does not hold, "" where all does
	trace         []string
	taken         [steps]bool // which steps were taken at all
}

// finds says whether a mistake was found, as the one that it is, with a way that leads to it.
func (r result) finds(broken string) bool {
	return broken != "" && strings.Contains(r.broken, broken) && len(r.trace) > 0
}

// check explores a world and holds the properties against it. Where time is counted, a wait over most intervals breaks them.
func check(w *world, most float64) (result, error) {
	var res result
	longest := uint8(0)
	g, bad, why, err := explore(w, func(s *state) string {
		for i, e := range s.event {
			if e.age > longest {
				longest = e.age
			}
			if w.timed() && float64(e.age) > most*float64(w.interval) {
				return fmt.Sprintf("event %d waits over %g interval(s)", i+1, most)
			}
		}
		return w.wrong(s)
	})
	if err != nil {
		return res, err
	}
	res.states, res.steps = len(g.states), len(g.to)
	for _, a := range g.acts {
		res.taken[a.step()] = true
	}
	if bad >= 0 {
		res.broken, res.trace = why, g.tell(bad)
		return res, nil
	}
	if w.timed() {
		res.intervals = float64(longest) / float64(w.interval)
		return res, nil
	}
	for e := range w.events() {
		at, part := g.stuck(func(s *state) bool { return s.event[e].unserved() })
		if at < 0 {
			continue
		}
		res.broken = fmt.Sprintf("event %d is committed and %s", e+1, waitsForEver)
		res.trace = append(g.tell(at), g.tellPart(at, part)...)
		break
	}
	return res, nil
}

// wrong says what may be in no state.
func (w *world) wrong(s *state) string {
	for i, e := range s.event {
		switch {
		case e.jobs[0] > 1 || e.jobs[1] > 1:
			return fmt.Sprintf("event %d %s of one subscription", i+1, twoJobs)
		case e.jobs[0]+e.jobs[1] > 0 && e.status <= rolledBack:
			return fmt.Sprintf("event %d was not committed and has a job", i+1)
		case e.jobs[0]+e.jobs[1] > 0 && e.status == poisoned:
			return fmt.Sprintf("event %d is set aside and has a job", i+1)
		case e.jobs[1] > e.jobs[0]:
			return fmt.Sprintf("event %d has a job of one subscription only", i+1)
		}
	}
	return ""
}
