package main

// The bounds of a state. A case uses what it needs of them.
const (
	mostEvents = 3
	mostTxs    = 2
	mostRelays = 2
)

// state is all that the steps look at, in the database and in the processes. It is comparable: states are told apart by value.
type state struct {
	tx    [mostTxs]tx
	event [mostEvents]event
	relay [mostRelays]relay

	duty       holder // of the advisory lock
	registered bool   // the second subscription
	faults     uint8  // connections that may still be lost or go deaf
	fails      uint8  // passes that may still fail through their surroundings
	crashes    uint8  // relays that may still die
}

// tx is a writer's transaction.
type tx struct {
	phase  phase
	probed uint8 // rows whose trigger has run
	notify bool  // postbus.woken: a NOTIFY goes with the commit
	off    bool  // set local postbus.wake = off
}

type phase uint8

const (
	idle phase = iota
	open
	ended
)

// event is a row of postbus.events with the jobs that name it.
type event struct {
	status   status
	held     holder // of the row's lock
	attempts uint8
	early    bool // next_attempt_at lies ahead
	wanted   bool // by the second subscription: it was registered when the event was committed
	jobs     [2]uint8
	age      uint8 // ticks since the commit, where time is counted
}

type status uint8

const (
	absent status = iota
	uncommitted
	rolledBack
	unmarked
	marked
	poisoned
)

// holder says whose lock it is: nobody's, a relay's, or that of a relay whose connection is dead, which the server does not know yet.
type holder uint8

const (
	nobody holder = 0
	ghost  holder = 8
)

func of(r int) holder      { return holder(r + 1) }
func ghostOf(r int) holder { return of(r) | ghost }

// relay is a process's relay, with the listener of the process.
type relay struct {
	at      place
	looks   uint8
	snap    set // what the claim's snapshot holds
	claimed set
	pending set // whose jobs and marks wait for the commit
	second  bool
	floor   uint8 // the seq from which a claim starts; 0 is a full scan
	due     bool  // the last full scan is longer ago than fullScanEvery
	careful bool
	held    bool // duty.held: what the relay believes
	conn    conn
	sent    bool // a notification is on its way
	heard   bool // the subscription's channel is not empty
	timer   uint8
	scan    uint8 // ticks until a full scan is due, where time is counted
}

// place is where the relay's loop stands.
type place uint8

const (
	atTop place = iota
	atSnapshot
	atLock
	atTargets
	atEnqueue
	atMark
	atCommit
	atGather
	atTake
	onDuty
	atLeave
	offDuty
	asleep
	atFailed
	backingOff
	dead
	atSecondCommit // planted: what one transaction does is cut in two
)

// conn is how the listening connection stands.
type conn uint8

const (
	off   conn = iota
	fresh      // LISTEN is in effect, no probe has arrived yet
	hears
	numb // notifications stopped arriving, and nobody knows
	deaf
)

// set is a set of events.
type set uint8

func (s set) has(e int) bool { return s&(1<<e) != 0 }
func (s *set) add(e int)     { *s |= 1 << e }

// last is the highest seq in a set; the event i has the seq i + 1.
func (s set) last() uint8 {
	var n uint8
	for e := range mostEvents {
		if s.has(e) {
			n = uint8(e + 1)
		}
	}
	return n
}

// claimable is what AnyClaimable and the claim look for: marks and time, whoever holds the row.
func (e event) claimable() bool { return e.status == unmarked && !e.early }

// unserved says that the event is committed and lacks its mark or a job.
func (e event) unserved() bool {
	return e.status == unmarked || e.status == marked && (e.jobs[0] == 0 || e.wanted && e.jobs[1] == 0)
}

func (s *state) anyClaimable() bool {
	for _, e := range s.event {
		if e.claimable() {
			return true
		}
	}
	return false
}
