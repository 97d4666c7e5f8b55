package main

import (
	"fmt"
	"slices"
	"strings"
)

// tell puts a way from the start to a state into words: each step and what stands after it.
func (g *graph) tell(at int32) []string {
	var lines []string
	for ; g.from[at] >= 0; at = g.from[at] {
		lines = append(lines, fmt.Sprintf("%-60s %s", g.by[at], g.world.show(&g.states[at])))
	}
	slices.Reverse(lines)
	for i := range lines {
		lines[i] = fmt.Sprintf("%2d. %s", i+1, lines[i])
	}
	return lines
}

// String says who does what.
func (a act) String() string {
	k := kinds[a.step()]
	switch s := a.step(); {
	case s == tick || s == registerSub:
		return k.text
	case s == eventFallsDue:
		return fmt.Sprintf("event %d %s", a.who()+1, k.text)
	case s <= rollBackTx:
		return fmt.Sprintf("transaction %d %s", a.who()+1, k.text)
	default:
		return fmt.Sprintf("relay %d: %s", a.who()+1, k.text)
	}
}

// tellPart says how a run stays in a part for ever: one round, in which no fair step is refused.
func (g *graph) tellPart(at int32, part []int32) []string {
	round := g.round(at, part)
	if len(round) == 0 {
		return []string{"    and nothing is left to happen that must"}
	}
	lines := []string{fmt.Sprintf("    and round for ever, among %d state(s):", len(part))}
	for _, e := range round {
		lines = append(lines, fmt.Sprintf("    %-60s %s", g.acts[e], g.world.show(&g.states[g.to[e]])))
	}
	return lines
}

var (
	statuses = [...]string{absent: "-", uncommitted: "written", rolledBack: "rolled back", unmarked: "WAITS", marked: "marked", poisoned: "poisoned"}
	places   = [...]string{
		atTop: "loops", atSnapshot: "passes", atLock: "passes", atTargets: "passes", atEnqueue: "passes", atMark: "passes", atCommit: "passes",
		atSecondCommit: "passes", atGather: "pauses", atTake: "wants duty", onDuty: "looks", atLeave: "leaves", offDuty: "looks", asleep: "sleeps",
		atFailed: "failed", backingOff: "waits", dead: "dead",
	}
	conns = [...]string{off: "unconnected", fresh: "listening", hears: "", numb: "deaf unknown", deaf: "deaf"}
)

// show says in one line how things stand.
func (w *world) show(s *state) string {
	var b strings.Builder
	for e := range w.events() {
		row := s.event[e]
		fmt.Fprintf(&b, "e%d %s", e+1, statuses[row.status])
		if row.held != nobody {
			fmt.Fprintf(&b, " held by %s", row.held)
		}
		if jobs := int(row.jobs[0] + row.jobs[1]); jobs > 0 {
			fmt.Fprintf(&b, " %d job(s)", jobs)
		}
		b.WriteString(" | ")
	}
	for r := range w.relays {
		l := s.relay[r]
		fmt.Fprintf(&b, "r%d %s", r+1, places[l.at])
		if l.floor > 0 {
			fmt.Fprintf(&b, " from %d", l.floor)
		}
		if w.listener && conns[l.conn] != "" && l.at != dead {
			b.WriteString(" " + conns[l.conn])
		}
		b.WriteString(" | ")
	}
	if w.listener {
		fmt.Fprintf(&b, "duty %s", s.duty)
	}
	return strings.TrimSuffix(b.String(), " | ")
}

// String names who holds a lock.
func (h holder) String() string {
	switch {
	case h == nobody:
		return "-"
	case h&ghost != 0:
		return fmt.Sprintf("r%d's ghost", h&^ghost)
	default:
		return fmt.Sprintf("r%d", h)
	}
}
