package main

// passStep takes the steps of relay.pass: statements of one transaction, which ends in commit or in nothing.
func (w *world) passStep(s *state, r int, emit emit) {
	n := *s
	l := &n.relay[r]
	switch l.at {
	case atSnapshot: // ClaimEvents sees what was committed when the statement began
		for e, row := range n.event {
			if w.takes(row) && uint8(e+1) >= l.floor {
				l.snap.add(e)
			}
		}
		l.at = atLock
		emit(actOf(claimSnapshot, r), n)
	case atLock:
		w.claim(s, r, emit)
	case atTargets:
		if w.plant != subsFirst {
			l.second = n.registered
		}
		l.at = atEnqueue
		emit(actOf(readSubs, r), n)
	case atEnqueue:
		w.enqueue(&n, r)
		emit(actOf(enqueueJobs, r), n)
	case atMark:
		l.at = atCommit
		emit(actOf(markRows, r), n)
	case atCommit, atSecondCommit:
		w.commitPass(s, r, emit)
	}
}

// claim is "for update skip locked": a row that another holds is skipped, and one that changed since the snapshot is judged anew.
func (w *world) claim(s *state, r int, emit emit) {
	n := *s
	l := &n.relay[r]
	for e := range n.event {
		row := &n.event[e]
		if !l.snap.has(e) || row.held != nobody || w.batch > 0 && l.claimed.size() == w.batch {
			continue
		}
		if !w.takes(*row) && w.plant != noRecheck {
			continue
		}
		l.claimed.add(e)
		if w.plant != unlockFirst {
			row.held = of(r)
		}
	}
	l.snap = 0
	full := l.floor == 0
	if full {
		l.due, l.scan = false, w.scanEvery
	}
	if l.claimed != 0 {
		l.at = atTargets
		emit(actOf(claimRows, r), n)
		return
	}
	l.second = false
	if w.plant == careForgotten {
		l.careful = false
	}
	if w.others {
		o := n
		o.relay[r].floor, o.relay[r].at, o.relay[r].careful = mostEvents+1, atGather, false
		emit(actOf(claimOthers, r), o)
	}
	if w.full {
		l.floor = 0
	}
	if full || !w.full {
		w.idle(l)
	} else {
		w.busy(l)
	}
	emit(actOf(claimRows, r), n)
}

// takes is the claim's condition.
func (w *world) takes(row event) bool {
	return row.claimable() || w.plant == dirtyRead && row.status == uncommitted
}

// enqueue is fanner.fan, or fanner.bisect where the pass is careful. A row's own fault takes the usual pass back (relay.failed).
func (w *world) enqueue(n *state, r int) {
	l := &n.relay[r]
	if l.claimed&w.bad != 0 && !l.careful {
		w.undo(n, r)
		l.careful = true
		if w.plant == waitBeforeCare {
			w.idle(l)
		} else {
			w.busy(l)
		}
		return
	}
	l.pending = l.claimed &^ w.bad
	l.at = atMark
}

// undo rolls the pass back: no jobs, no marks, no locks, and the next claim starts anew.
func (w *world) undo(n *state, r int) {
	l := &n.relay[r]
	unlock(n, of(r))
	l.snap, l.claimed, l.pending, l.second = 0, 0, 0, false
	if w.full {
		l.floor = 0
	}
}

func unlock(n *state, whose holder) {
	for e := range n.event {
		if n.event[e].held == whose {
			n.event[e].held = nobody
		}
	}
}

// commitPass makes jobs, marks and failures visible at once.
func (w *world) commitPass(s *state, r int, emit emit) {
	n := *s
	l := &n.relay[r]
	first := l.at == atCommit
	split := w.plant == markFirst || w.plant == enqueueFirst
	if jobs := !split || first == (w.plant == enqueueFirst); jobs {
		w.makeJobs(&n, r)
	}
	if marks := !split || first == (w.plant == markFirst); marks {
		w.mark(&n, r)
	}
	unlock(&n, of(r))
	if split && first {
		l.at = atSecondCommit
		emit(actOf(commitPass, r), n)
		return
	}
	failed := l.claimed & w.bad
	fanned := l.pending.size()
	l.careful = failed != 0 || l.careful && fanned < l.claimed.size()
	l.floor = l.claimed.last() + 1
	l.claimed, l.pending, l.second = 0, 0, false
	l.at = atGather
	emit(actOf(commitPass, r), n)
	if w.others {
		l.floor = mostEvents + 1
		emit(actOf(commitPassMore, r), n)
	}
	if n.fails > 0 && !split { // ErrCommitUnknown: it stands, and the relay takes it for failed
		n.fails--
		l.at, l.careful = atFailed, s.relay[r].careful
		if w.full {
			l.floor = 0
		}
		emit(actOf(commitUnheard, r), n)
	}
}

func (w *world) makeJobs(n *state, r int) {
	l := n.relay[r]
	for e := range n.event {
		if !l.pending.has(e) {
			continue
		}
		jobs := &n.event[e].jobs
		jobs[0] = min(jobs[0]+1, 2)
		if l.second {
			jobs[1] = min(jobs[1]+1, 2)
		}
	}
}

// mark is MarkFanned, which passes over marked rows, and MarkFailed.
func (w *world) mark(n *state, r int) {
	l := n.relay[r]
	for e := range n.event {
		row := &n.event[e]
		switch {
		case l.pending.has(e) && row.status == unmarked:
			row.status, row.age = marked, 0
		case l.claimed.has(e) && w.bad.has(e):
			row.attempts++
			row.early = true
			if row.attempts >= w.poison {
				row.status, row.early = poisoned, false
			}
		}
	}
}

// fail has a pass fail through its surroundings, at any of its statements.
func (w *world) fail(s *state, r int, emit emit) {
	if s.fails == 0 || !inPass(s.relay[r].at) {
		return
	}
	n := *s
	n.fails--
	w.undo(&n, r)
	n.relay[r].at = atFailed
	emit(actOf(failPass, r), n)
}

func inPass(at place) bool { return at >= atSnapshot && at <= atCommit || at == atSecondCommit }

func (s set) size() int {
	n := 0
	for e := range mostEvents {
		if s.has(e) {
			n++
		}
	}
	return n
}
