package main

// A run in which an event waits for ever stays, from some state on, among the states in which it waits, and visits some of them again
// and again: a strongly connected part of them. It is a run of the world if no fair step is refused in it: each one that is
// possible all the time is taken. So a part is bad if every fair step is taken within it, or is not possible somewhere in it. A state
// where nothing is left to happen is such a part, too.

// stuck finds the first reachable state of a bad part, and the part; -1 if there is none.
func (g *graph) stuck(waits func(s *state) bool) (at int32, part []int32) {
	in := make([]bool, len(g.states))
	for i := range g.states {
		in[i] = waits(&g.states[i])
	}
	at = -1
	g.parts(in, func(found []int32) {
		if !g.fairWithin(found) {
			return
		}
		lowest := found[0]
		for _, i := range found {
			lowest = min(lowest, i)
		}
		if at < 0 || lowest < at {
			at, part = lowest, found
		}
	})
	return at, part
}

// fairWithin says whether a run can stay in a part and refuse no fair step.
func (g *graph) fairWithin(part []int32) bool {
	inside := make(map[int32]bool, len(part))
	for _, i := range part {
		inside[i] = true
	}
	possible, taken := map[act]int{}, map[act]bool{}
	for _, i := range part {
		here := map[act]bool{}
		for e, end := g.stepsOf(i); e < end; e++ {
			a := g.acts[e]
			if !kinds[a.step()].fair {
				continue
			}
			here[a] = true
			if inside[g.to[e]] {
				taken[a] = true
			}
		}
		for a := range here {
			possible[a]++
		}
	}
	for a, n := range possible {
		if n == len(part) && !taken[a] {
			return false
		}
	}
	return true
}

// parts finds the strongly connected parts among the states in a set (Tarjan, with a stack of its own: the graph is deep).
func (g *graph) parts(in []bool, found func(part []int32)) {
	type frame struct{ at, edge int32 }
	var (
		number = make([]int32, len(in)) // 0: not visited
		low    = make([]int32, len(in))
		on     = make([]bool, len(in))
		stack  []int32
		calls  []frame
		n      int32
	)
	enter := func(at int32) {
		n++
		number[at], low[at], on[at] = n, n, true
		stack = append(stack, at)
		calls = append(calls, frame{at, g.first[at]})
	}
	for root := range in {
		if !in[root] || number[root] != 0 {
			continue
		}
		enter(int32(root))
		for len(calls) > 0 {
			top := &calls[len(calls)-1]
			if top.edge < g.first[top.at+1] {
				to := g.to[top.edge]
				top.edge++
				switch {
				case !in[to]:
				case number[to] == 0:
					enter(to)
				case on[to]:
					low[top.at] = min(low[top.at], number[to])
				}
				continue
			}
			at := top.at
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				above := calls[len(calls)-1].at
				low[above] = min(low[above], low[at])
			}
			if low[at] != number[at] {
				continue
			}
			cut := len(stack) - 1
			for stack[cut] != at {
				cut--
			}
			part := append([]int32(nil), stack[cut:]...)
			stack = stack[:cut]
			for _, i := range part {
				on[i] = false
			}
			found(part)
		}
	}
}
