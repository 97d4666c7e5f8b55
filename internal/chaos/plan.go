package chaos

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// Fault is one entry of the plan and what came of it. Times count from the beginning of the plan.
type Fault struct {
	Kind   string        `json:"kind"`
	Lane   string        `json:"lane"`
	Target int           `json:"target"` // of a fault of one bus process: which, from 0
	Chance uint64        `json:"chance"` // decides how strong it is
	At     time.Duration `json:"at"`
	For    time.Duration `json:"for"`
	// Alone says that no other fault was planned beside it.
	Alone bool `json:"alone"`

	// Began and Ended are when it really did. Recovered is the time from its end to the next event that was handled by whom it
	// hit; nil where none came any more.
	Began     time.Duration  `json:"began"`
	Ended     time.Duration  `json:"ended"`
	Recovered *time.Duration `json:"recovered"`
	// Error is why it did not come about.
	Error string `json:"error,omitempty"`
}

// longEnough is the duration from which on a plan begins with each kind alone.
const longEnough = 5 * time.Minute

// planFor makes the faults of one run: each kind at least once, whatever the duration. A long plan begins with each kind by
// itself, so that its recovery can be told from others'; after that every lane goes its own way and faults meet.
func planFor(kinds []kind, seed uint64, buses int, duration time.Duration) []Fault {
	random := rand.New(rand.NewPCG(seed, 1))
	var plan []Fault
	begin := time.Second
	if duration >= longEnough {
		begin = lay(&plan, random, kinds, buses, begin, duration, true)
	}
	for _, lane := range lanes {
		mine := slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return k.lane != lane })
		lay(&plan, random, mine, buses, begin+time.Duration(random.Int64N(int64(time.Second))), duration, false)
	}
	slices.SortStableFunc(plan, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	return plan
}

// lay puts faults one after the other from begin on: one deck of the kinds, or decks until the end. The first deck is squeezed where
// it would not fit. It answers when the last one is over.
func lay(plan *[]Fault, random *rand.Rand, kinds []kind, buses int, begin, end time.Duration, once bool) time.Duration {
	if len(kinds) == 0 {
		return begin
	}
	at, squeeze := begin, 1.0
	for deck := 0; ; deck++ {
		faults, total := draw(random, kinds, buses, once)
		if deck == 0 && at+total > end {
			squeeze = float64(end-at) / float64(total)
		}
		for _, f := range faults {
			f.At, f.For = at+time.Duration(float64(f.At)*squeeze), time.Duration(float64(f.For)*squeeze)
			if f.At+f.For > end+time.Millisecond {
				return at
			}
			f.Alone = once
			*plan = append(*plan, f)
		}
		at += time.Duration(float64(total) * squeeze)
		if once || squeeze < 1 {
			return at
		}
	}
}

// draw shuffles the kinds and says when each begins, after the pause before it.
func draw(random *rand.Rand, kinds []kind, buses int, quiet bool) (faults []Fault, total time.Duration) {
	for _, i := range random.Perm(len(kinds)) {
		k := kinds[i]
		pause := 500*time.Millisecond + time.Duration(random.Int64N(int64(2500*time.Millisecond)))
		if quiet {
			pause += 2 * time.Second // so that the one before has been recovered from
		}
		f := Fault{Kind: k.name, Lane: k.lane, Target: random.IntN(buses), Chance: random.Uint64(), At: total + pause}
		f.For = k.least + time.Duration(random.Int64N(int64(k.most-k.least)+1))
		total = f.At + f.For
		faults = append(faults, f)
	}
	return faults, total
}
