package main

// verdict is a case and what it must come to.
type verdict struct {
	name  string
	says  string // what may happen in it
	world world
	// intervals is the longest wait in poll intervals, where time is counted.
	intervals float64
	// mistake turns the world into one that must be found out, as broken says, or by its longer wait.
	mistake func(w *world)
	broken  string
}

// wake is one relay and everything that can befall a wake-up.
func wake() world {
	return world{rows: []int{2, 1}, relays: 1, listener: true, polls: true, full: true}
}

// told is a relay that hears everything and never polls, and transactions whose commit follows their last probe at once.
func told() world {
	return world{rows: []int{2, 1}, relays: 1, listener: true, full: true, prompt: true}
}

// claims is two relays that poll: what they do to each other's claims.
func claims() world {
	return world{rows: []int{2, 1}, relays: 2, polls: true, full: true}
}

func with(w world, change func(w *world)) world {
	change(&w)
	return w
}

// right are the cases of the protocol as the code has it.
func right() []verdict {
	return []verdict{
		{name: "wake-up", says: "transactions commit late, in any order, say wake = off or roll back; the relay dies twice",
			world: with(wake(), func(w *world) { w.wakeOff, w.crashes, w.restarts = true, 2, true })},
		{name: "deaf", says: "the connection is lost, noticed or not, or goes deaf, three times, and need not come back",
			world: with(wake(), func(w *world) { w.faults = 3 })},
		{name: "load", says: "later events come all the time, so that claims start at a floor; the connection breaks once",
			world: with(wake(), func(w *world) { w.others, w.faults = true, 1 })},
		{name: "told", says: "no poll: what a relay that hears everything is told of is enough, where commits are prompt",
			world: told()},
		{name: "shared duty", says: "two relays; connections break twice, one relay dies for good, noticed or not",
			world: with(wake(), func(w *world) { w.rows, w.relays, w.faults, w.crashes, w.vanishes = []int{2}, 2, 2, 1, true })},
		{name: "shared load", says: "two relays, later events come all the time",
			world: with(wake(), func(w *world) { w.rows, w.relays, w.others = []int{2}, 2, true })},
		{name: "claims", says: "two relays; three passes fail or commit unheard of; two deaths, seen by the server or not",
			world: with(claims(), func(w *world) { w.fails, w.crashes, w.restarts, w.vanishes = 3, 2, true, true })},
		{name: "one left", says: "one of two relays dies for good in mid-pass, and the server sees it late",
			world: with(claims(), func(w *world) { w.fails, w.crashes, w.vanishes = 1, 1, true })},
		{name: "batches", says: "a pass claims one event at a time; one pass fails",
			world: with(claims(), func(w *world) { w.batch, w.fails = 1, 1 })},
		{name: "new subscription", says: "a second subscription is declared at any moment; one pass fails",
			world: with(claims(), func(w *world) { w.second, w.fails = true, 1 })},
		{name: "bad event", says: "one event's fan-out fails through its own fault until it is poisoned; one pass fails otherwise",
			world: with(claims(), func(w *world) { w.bad, w.poison, w.fails = 1, 2, 1 })},
	}
}

// clocked counts time: four ticks to Config.PollInterval, with fullScanEvery and Config.BackoffBase as they relate to its default.
func clocked(w world) world {
	w.interval, w.scanEvery, w.backoff = 4, 8, 8
	return w
}

// waits are cases in which time is counted.
func waits() []verdict {
	return []verdict{
		{name: "told", says: "the relay hears, and commits follow their probes at once", intervals: 0,
			world: clocked(with(told(), func(w *world) { w.polls = true }))},
		{name: "late commit", says: "the relay hears; a transaction takes its time between its probe and its commit", intervals: 1,
			world: clocked(wake())},
		{name: "deaf", says: "the connection breaks twice", intervals: 1,
			world: clocked(with(wake(), func(w *world) { w.faults = 2 }))},
		{name: "bad event", says: "beside one whose fan-out fails through its own fault", intervals: 1,
			world: clocked(with(wake(), func(w *world) { w.rows, w.bad, w.poison = []int{1, 2}, 2, 2 }))},
		{name: "late commit, load", says: "later events come all the time: fullScanEvery", intervals: 2,
			world: clocked(with(wake(), func(w *world) { w.rows, w.others = []int{1, 1}, true }))},
		{name: "death", says: "one of two relays dies in mid-pass, and the server sees it", intervals: 2,
			world: clocked(with(claims(), func(w *world) { w.rows, w.crashes = []int{1}, 1 }))},
		{name: "failed pass", says: "the only relay's pass fails: Config.BackoffBase more", intervals: 3,
			world: clocked(with(claims(), func(w *world) { w.rows, w.relays, w.fails = []int{1}, 1, 1 }))},
		{name: "failed pass of two", says: "one of two relays' passes fails: the other polls", intervals: 2,
			world: clocked(with(claims(), func(w *world) { w.rows, w.fails = []int{1}, 1 }))},
	}
}

const (
	waitsForEver = "waits for ever"
	twoJobs      = "has two jobs"
)

// planted are mistakes, each in a world that holds without it.
func planted() []verdict {
	return []verdict{
		{name: "cursor", says: "claims start behind the last mark, and nothing looks below it", broken: waitsForEver,
			world: wake(), mistake: func(w *world) { w.full = false }},
		{name: "notify before the commit", says: "the NOTIFY arrives before what it tells of can be seen, and there is no poll", broken: waitsForEver,
			world:   with(told(), func(w *world) { w.prompt, w.noDuty = false, true }),
			mistake: func(w *world) { w.plant = earlyNotify }},
		{name: "no poll, deaf", says: "nothing but notifications wakes a relay, and it hears none", broken: waitsForEver,
			world: with(wake(), func(w *world) { w.faults = 1 }), mistake: func(w *world) { w.polls = false }},
		{name: "no poll, late commit", says: "nothing but notifications wakes a relay that was on duty when the transaction asked", broken: waitsForEver,
			world: wake(), mistake: func(w *world) { w.polls = false }},
		{name: "no look after the duty", says: "a relay sleeps as soon as it has left its duty, and there is no poll", broken: waitsForEver,
			world: told(), mistake: func(w *world) { w.plant = noLookAfter }},
		{name: "mark before enqueue", says: "two transactions, the mark in the first", broken: waitsForEver,
			world: with(claims(), func(w *world) { w.crashes, w.restarts = 1, true }), mistake: func(w *world) { w.plant = markFirst }},
		{name: "enqueue before mark", says: "two transactions, the jobs in the first", broken: twoJobs,
			world: with(claims(), func(w *world) { w.relays, w.crashes, w.restarts = 1, 1, true }), mistake: func(w *world) { w.plant = enqueueFirst }},
		{name: "unlock before commit", says: "the claim's locks are gone before jobs and marks are committed", broken: twoJobs,
			world: claims(), mistake: func(w *world) { w.plant = unlockFirst }},
		{name: "no second look at a row", says: "a row that was marked since the claim's snapshot is taken all the same", broken: twoJobs,
			world: claims(), mistake: func(w *world) { w.plant = noRecheck }},
		{name: "subscriptions before the claim", says: "they are read before the claim's snapshot is taken", broken: waitsForEver,
			world: with(claims(), func(w *world) { w.second = true }), mistake: func(w *world) { w.plant = subsFirst }},
		{name: "dirty read", says: "what is not committed is fanned out", broken: "was not committed and has a job",
			world: claims(), mistake: func(w *world) { w.plant = dirtyRead }},
		{name: "care forgotten", says: "a pass that finds all rows held by others forgets that the next one must be careful", broken: waitsForEver,
			world: with(claims(), func(w *world) { w.bad, w.poison = 1, 2 }), mistake: func(w *world) { w.plant = careForgotten }},
		{name: "care that waits", says: "after a row's own fault the careful pass comes with the next poll", broken: "waits over 1 interval",
			world:   clocked(with(wake(), func(w *world) { w.rows, w.bad, w.poison = []int{1, 2}, 2, 2 })),
			mistake: func(w *world) { w.plant = waitBeforeCare }, intervals: 1},
	}
}
