package main

// listen takes the steps of a process's listener. It is lost and goes deaf as often as faults allow; it need not come back.
func (w *world) listen(s *state, r int, emit emit) {
	if !w.listener {
		return
	}
	step := func(what step, change func(n *state, l *relay)) {
		n := *s
		change(&n, &n.relay[r])
		emit(actOf(what, r), n)
	}
	l := &s.relay[r]
	if s.duty == ghostOf(r) {
		step(serverEnds, func(n *state, _ *relay) { n.duty = nobody })
	}
	if l.at == dead {
		return
	}
	if l.sent {
		step(deliver, func(_ *state, l *relay) { l.sent, l.heard = false, true })
	}
	if s.faults > 0 && l.conn != off {
		w.breakConn(s, r, step)
	}
	switch l.conn {
	case off: // connect ends the session before it, followSubscriptions sends a Resync
		step(connect, func(n *state, l *relay) {
			l.conn, l.heard = fresh, true
			if n.duty == ghostOf(r) {
				n.duty = nobody
			}
		})
	case fresh:
		step(proven, func(_ *state, l *relay) { l.conn = hears })
	case numb:
		step(turnDeaf, func(n *state, l *relay) {
			l.conn, l.heard = deaf, true
			if n.duty == of(r) {
				n.duty = nobody
			}
		})
	case deaf:
		step(proven, func(_ *state, l *relay) { l.conn, l.heard = hears, true })
	}
}

func (w *world) breakConn(s *state, r int, step func(step, func(*state, *relay))) {
	step(loseConn, func(n *state, l *relay) {
		n.faults--
		l.conn, l.sent = off, false
		if n.duty == of(r) {
			n.duty = nobody
		}
	})
	if s.duty == of(r) {
		step(loseConnUnseen, func(n *state, l *relay) {
			n.faults--
			l.conn, l.sent, n.duty = off, false, ghostOf(r)
		})
	}
	switch s.relay[r].conn {
	case hears:
		step(goNumb, func(n *state, l *relay) {
			n.faults--
			l.conn, l.sent = numb, false
		})
	case fresh:
		step(swallowed, func(n *state, l *relay) {
			n.faults--
			l.conn, l.sent, l.heard = deaf, false, true
		})
	}
}
