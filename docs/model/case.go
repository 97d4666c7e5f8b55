package main

// world says what a case holds and what may happen in it.
type world struct {
	rows     []int // events that each transaction records, in order of seq
	relays   int
	listener bool // else Config.Listener is nil: no duty, polls only
	broken   bool // the listener starts unconnected
	polls    bool // the poll timer runs
	full     bool // full scans come at fullScanEvery and before sleep, else the floor is a cursor
	prompt   bool // a commit follows the last probe before a relay that left its duty has looked for the last time
	wakeOff  bool // transactions may say postbus.wake = off
	others   bool // other, later events are recorded all the time
	noDuty   bool // no relay gets the duty lock
	second   bool // a second subscription is declared meanwhile
	restarts bool // a dead relay is started again; else only one of two may die
	vanishes bool // a relay may die without the server seeing it
	faults   uint8
	fails    uint8
	crashes  uint8
	batch    int // Config.BatchSize; 0 is more than there are events
	bad      set // events whose fan-out fails through their own fault
	poison   uint8
	plant    plant

	// Where time is counted: ticks of Config.PollInterval, of fullScanEvery and of Config.BackoffBase.
	interval, scanEvery, backoff uint8
}

// plant is a mistake that the code does not make.
type plant uint8

const (
	none plant = iota
	earlyNotify
	markFirst
	enqueueFirst
	unlockFirst
	subsFirst
	noRecheck
	noLookAfter
	dirtyRead
	careForgotten
	waitBeforeCare
)

func (w *world) timed() bool { return w.interval > 0 }

// start is the state before anything has happened: the relays are about to make their first pass.
func (w *world) start() state {
	s := state{faults: w.faults, fails: w.fails, crashes: w.crashes}
	for r := range mostRelays {
		s.relay[r] = w.newRelay()
		if r >= w.relays {
			s.relay[r].at = dead
		}
	}
	return s
}

func (w *world) newRelay() relay {
	r := relay{}
	if w.listener && !w.broken {
		r.conn = hears
	}
	return r
}

// emit takes a step's outcome.
type emit func(a act, s state)

// next tells emit of every step that is possible in s.
func (w *world) next(s *state, emit emit) {
	for t := range w.rows {
		w.write(s, t, emit)
	}
	if w.second && !s.registered {
		n := *s
		n.registered = true
		emit(actOf(registerSub, 0), n)
	}
	for e := range s.event {
		if s.event[e].early {
			n := *s
			n.event[e].early = false
			emit(actOf(eventFallsDue, e), n)
		}
	}
	for r := range w.relays {
		w.listen(s, r, emit)
		w.die(s, r, emit)
		if s.relay[r].at != dead {
			w.run(s, r, emit)
			w.fail(s, r, emit)
		}
	}
	if w.timed() {
		w.elapse(s, emit)
	}
}
