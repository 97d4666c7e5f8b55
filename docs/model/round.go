package main

// round is a walk within a part from a state back to it, as places in to and acts, that refuses no fair step: it takes each, or
// comes by a state in which it is not possible.
func (g *graph) round(start int32, part []int32) []int32 {
	inside := make(map[int32]bool, len(part))
	owed := map[act]bool{}
	for _, i := range part {
		inside[i] = true
		for a := range g.fairAt(i) {
			owed[a] = true
		}
	}
	var walk []int32
	at := start
	pays := func(a act, to int32) bool { return owed[a] || !g.offersAll(to, owed) }
	g.settle(start, owed)
	for len(owed) > 0 {
		leg := g.nearest(at, inside, func(e int32) bool { return pays(g.acts[e], g.to[e]) })
		if leg == nil {
			break
		}
		for _, e := range leg {
			at = g.to[e]
			delete(owed, g.acts[e])
			g.settle(at, owed)
		}
		walk = append(walk, leg...)
	}
	if at != start {
		walk = append(walk, g.nearest(at, inside, func(e int32) bool { return g.to[e] == start })...)
	}
	return walk
}

// settle strikes what is not possible in a state off what is owed.
func (g *graph) settle(at int32, owed map[act]bool) {
	possible := g.fairAt(at)
	for a := range owed {
		if !possible[a] {
			delete(owed, a)
		}
	}
}

// offersAll says whether everything that is owed is possible in a state.
func (g *graph) offersAll(at int32, owed map[act]bool) bool {
	possible := g.fairAt(at)
	for a := range owed {
		if !possible[a] {
			return false
		}
	}
	return true
}

// fairAt is which fair steps are possible in a state.
func (g *graph) fairAt(at int32) map[act]bool {
	fair := map[act]bool{}
	for e, end := g.stepsOf(at); e < end; e++ {
		if kinds[g.acts[e].step()].fair {
			fair[g.acts[e]] = true
		}
	}
	return fair
}

// nearest is a shortest way within a part from a state, over a step that is wanted.
func (g *graph) nearest(from int32, inside map[int32]bool, wanted func(e int32) bool) []int32 {
	over := map[int32]int32{from: -1} // by which step each state was reached
	source := map[int32]int32{}
	queue := []int32{from}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for e, end := g.stepsOf(i); e < end; e++ {
			if !inside[g.to[e]] {
				continue
			}
			if wanted(e) {
				way := []int32{e}
				for ; over[i] >= 0; i = source[i] {
					way = append([]int32{over[i]}, way...)
				}
				return way
			}
			if _, seen := over[g.to[e]]; !seen {
				over[g.to[e]], source[g.to[e]] = e, i
				queue = append(queue, g.to[e])
			}
		}
	}
	return nil
}
