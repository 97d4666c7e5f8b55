package main

import (
	"fmt"
	"os"
)

func main() {
	out, ok := report()
	for _, l := range out {
		fmt.Println(l.text)
	}
	if !ok {
		os.Exit(1)
	}
}

// line is one of the report, or of a trace in it.
type line struct {
	text  string
	trace bool
}

// report checks every case and says what came of it, and whether all is as it must be.
func report() (out []line, ok bool) {
	ok = true
	say := func(format string, args ...any) { out = append(out, line{text: fmt.Sprintf(format, args...)}) }
	each := func(c verdict, judge func(res result) (what string, right bool)) {
		res, err := check(&c.world, c.intervals)
		what, right := judge(res)
		if err != nil {
			what, right = err.Error(), false
		}
		if !right {
			what, ok = "WRONG: "+what, false
		}
		say("  %-31s %7d states %8d steps  %s", c.name, res.states, res.steps, what)
		for _, text := range res.trace {
			out = append(out, line{"      " + text, true})
		}
	}
	say("Every committed event gets its one job of each subscription:")
	for _, c := range right() {
		each(c, func(res result) (string, bool) {
			if res.broken != "" {
				return res.broken, false
			}
			return "holds", true
		})
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
	return out, ok
}
