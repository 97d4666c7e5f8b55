package main

// run takes the steps of relay.run in one process, in the order of the code: a pass, the duty, looks, sleep.
func (w *world) run(s *state, r int, emit emit) {
	n := *s
	l := &n.relay[r]
	done := func(what step) { emit(actOf(what, r), n) }
	switch l.at {
	case atTop:
		l.heard = false
		if w.full && (l.due || w.timed() && l.scan == 0) {
			l.floor = 0
		}
		l.at, l.second = atSnapshot, w.plant == subsFirst && n.registered
		done(forgetHeard)
	case atSnapshot, atLock, atTargets, atEnqueue, atMark, atCommit, atSecondCommit:
		w.passStep(s, r, emit)
	case atGather:
		l.at = atTake
		if !w.listener {
			l.at = atTop
		}
		done(gatherEnds)
	case atTake:
		w.takeDuty(s, r, emit)
	case onDuty, offDuty:
		w.look(s, r, emit)
	case atLeave:
		leave(&n, r)
		l.at, l.looks = offDuty, 0
		if w.plant == noLookAfter {
			w.sleep(l)
		}
		done(leaveDuty)
	case asleep:
		w.poll(s, r, emit)
	case atFailed:
		leave(&n, r)
		l.at, l.timer = backingOff, w.backoff
		done(leaveForBackoff)
	case backingOff:
		if l.timer > 0 {
			return
		}
		l.at = atTop
		done(backoffEnds)
	}
	if w.full && !w.timed() && l.floor > 0 && !l.due { // the clock goes on wherever the loop stands
		n = *s
		l.due = true
		done(scanFallsDue)
	}
}

// takeDuty is duty.take. The lock may be missed although it is free: a writer's probe holds it for a moment.
func (w *world) takeDuty(s *state, r int, emit emit) {
	n := *s
	l := &n.relay[r]
	l.at = atTop
	if l.held {
		l.held = n.duty == of(r) // Listener.Held
		emit(actOf(takeDuty, r), n)
		return
	}
	emit(actOf(missDuty, r), n)
	if l.conn == hears && n.duty == nobody && !w.noDuty {
		l.held, n.duty = true, of(r)
		emit(actOf(takeDuty, r), n)
	}
}

// leave is duty.leave: where the lock went with its connection there is nothing to do.
func leave(n *state, r int) {
	if n.relay[r].held && n.duty == of(r) {
		n.duty = nobody
	}
	n.relay[r].held = false
}

// looks is how often a relay looks before it leaves its duty, and after it: five times in the code, which differs in time only.
const looks = 1

// look is relay.look of linger: a pause, then AnyClaimable, so many times; a notification ends it.
func (w *world) look(s *state, r int, emit emit) {
	n := *s
	l := &n.relay[r]
	if l.heard {
		l.heard, l.at = false, atTop
		emit(actOf(hearOfIt, r), n)
		n, l = *s, &n.relay[r]
	}
	l.looks++
	switch {
	case n.anyClaimable():
		l.at, l.looks = atTop, 0
	case l.looks < looks:
	case l.at == onDuty:
		l.at, l.looks = atLeave, 0
	default:
		w.sleep(l)
	}
	emit(actOf(lookAgain, r), n)
}

// idle is what follows a pass that found nothing, and did not overlook anything.
func (w *world) idle(l *relay) {
	if l.held {
		l.at, l.looks = onDuty, 0
		return
	}
	w.sleep(l)
}

// busy is what follows a pass that found something, or began at a floor.
func (w *world) busy(l *relay) {
	l.at = atTake
	if !w.listener {
		l.at = atTop
	}
}

func (w *world) sleep(l *relay) { l.at, l.looks, l.timer = asleep, 0, w.interval }

// poll is relay.sleep. That it ends after ten polls in any case is left out: nothing may hang on it.
func (w *world) poll(s *state, r int, emit emit) {
	n := *s
	l := &n.relay[r]
	if l.heard {
		l.heard, l.at = false, atTop
		emit(actOf(hearOfIt, r), n)
		n, l = *s, &n.relay[r]
	}
	if !w.polls || l.timer > 0 {
		return
	}
	w.sleep(l)
	if n.anyClaimable() {
		l.at = atTop
	}
	emit(actOf(pollLooks, r), n)
}
