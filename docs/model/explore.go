package main

import "fmt"

// graph holds every reachable state of a world and every step between two of them.
type graph struct {
	world  *world
	states []state
	index  map[state]int32
	from   []int32 // by which state each was reached first, by the fewest steps
	by     []act
	first  []int32 // of each state's steps, in to and acts
	to     []int32
	acts   []act
}

// most bounds a case, so that a mistake in one ends.
const most = 4_000_000

// explore visits breadth first, so that the way to a state is a shortest one. It ends at the first state that stop objects to.
func explore(w *world, stop func(s *state) string) (g *graph, bad int32, why string, err error) {
	g = &graph{world: w, index: map[state]int32{}}
	g.visit(w.start(), -1, 0)
	for at := int32(0); int(at) < len(g.states); at++ {
		g.first = append(g.first, int32(len(g.to)))
		s := g.states[at]
		if why := stop(&s); why != "" {
			return g, at, why, nil
		}
		w.next(&s, func(a act, n state) {
			g.to = append(g.to, g.visit(n, at, a))
			g.acts = append(g.acts, a)
		})
		if len(g.states) > most {
			return nil, 0, "", fmt.Errorf("over %d states", most)
		}
	}
	g.first = append(g.first, int32(len(g.to)))
	return g, -1, "", nil
}

func (g *graph) visit(s state, from int32, by act) int32 {
	if at, known := g.index[s]; known {
		return at
	}
	at := int32(len(g.states))
	g.index[s] = at
	g.states, g.from, g.by = append(g.states, s), append(g.from, from), append(g.by, by)
	return at
}

// stepsOf are the places in to and acts that hold the steps out of a state.
func (g *graph) stepsOf(at int32) (from, to int32) { return g.first[at], g.first[at+1] }
