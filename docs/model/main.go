package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"
)

func main() {
	all := report()
	for _, l := range all.lines {
		fmt.Println(l.text)
	}
	if len(all.wrong) > 0 {
		os.Exit(1)
	}
}

// reported is what all cases came to.
type reported struct {
	lines []line
	wrong []string // what is not as it must be
	taken [steps]bool
}

// line is one of the report, or of a trace in it.
type line struct {
	text  string
	trace bool
}

// report checks every case.
func report() (all reported) {
	say := func(format string, args ...any) {
		all.lines = append(all.lines, line{text: fmt.Sprintf(format, args...)})
	}
	each := func(c verdict, judge func(res result) (what string, right bool)) {
		res, err := check(&c.world, c.intervals)
		what, right := judge(res)
		if err != nil {
			what, right = err.Error(), false
		}
		if !right {
			what = "WRONG: " + what
			all.wrong = append(all.wrong, c.name+": "+what+"\n"+strings.Join(res.trace, "\n"))
		}
		say("  %-31s %7d states %8d steps  %s", c.name, res.states, res.steps, what)
		for _, text := range res.trace {
			all.lines = append(all.lines, line{"      " + text, true})
		}
		for s, was := range res.taken {
			all.taken[s] = all.taken[s] || was
		}
	}
	say("Every committed event gets its one job of each subscription:")
	for _, c := range right() {
		each(c, func(res result) (string, bool) { return cmp.Or(res.broken, "holds"), res.broken == "" })
	}
	say("The longest wait of a committed event, in poll intervals:")
	for _, c := range waits() {
		each(c, func(res result) (string, bool) {
			return fmt.Sprintf("%g", res.intervals) + res.broken, res.broken == "" && res.intervals == c.intervals
		})
	}
	say("Planted mistakes:")
	for _, c := range planted() {
		c.mistake(&c.world)
		each(c, func(res result) (string, bool) { return "found: " + res.broken, res.finds(c.broken) })
	}
	return all
}
