package main

// eventsOf answers the events of a transaction.
func (w *world) eventsOf(t int) (first, n int) {
	for i := range t {
		first += w.rows[i]
	}
	return first, w.rows[t]
}

// events is how many there are.
func (w *world) events() int {
	first, last := w.eventsOf(len(w.rows) - 1)
	return first + last
}

// write takes a writer's steps. It may stop anywhere, as long as it likes. Its seqs are given when it writes, its commit comes when it comes.
func (w *world) write(s *state, t int, emit emit) {
	first, rows := w.eventsOf(t)
	switch s.tx[t].phase {
	case idle:
		n := *s
		n.tx[t].phase = open
		for e := first; e < first+rows; e++ {
			n.event[e].status = uncommitted
		}
		emit(actOf(insertRows, t), n)
		if w.wakeOff {
			n.tx[t].off = true
			emit(actOf(insertRows, t), n)
		}
	case open:
		w.rollBack(s, t, emit)
		if int(s.tx[t].probed) == rows {
			w.commit(*s, t, emit)
			return
		}
		n := *s
		n.tx[t].probed++
		if n.duty == nobody && !n.tx[t].off { // postbus.wake_relay
			if w.plant == earlyNotify && !n.tx[t].notify {
				w.notify(&n)
			}
			n.tx[t].notify = true
		}
		if w.prompt && w.plant != earlyNotify && int(n.tx[t].probed) == rows {
			w.commit(n, t, emit)
			return
		}
		emit(actOf(probeRow, t), n)
	}
}

func (w *world) commit(n state, t int, emit emit) {
	if n.tx[t].notify && w.plant != earlyNotify {
		w.notify(&n)
	}
	first, rows := w.eventsOf(t)
	for e := first; e < first+rows; e++ {
		n.event[e].status, n.event[e].wanted = unmarked, n.registered
	}
	n.tx[t] = tx{phase: ended}
	emit(actOf(commitTx, t), n)
}

func (w *world) rollBack(s *state, t int, emit emit) {
	n := *s
	first, rows := w.eventsOf(t)
	for e := first; e < first+rows; e++ {
		n.event[e].status = rolledBack
	}
	n.tx[t] = tx{phase: ended}
	emit(actOf(rollBackTx, t), n)
}

// notify sends to every connection that listens and hears. To others it is lost.
func (w *world) notify(n *state) {
	for r := range w.relays {
		if c := n.relay[r].conn; c == fresh || c == hears {
			n.relay[r].sent = true
		}
	}
}
