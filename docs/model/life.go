package main

// die has a process die, in the middle of whatever it does, and start again.
func (w *world) die(s *state, r int, emit emit) {
	n := *s
	if s.lost(r) {
		unlock(&n, ghostOf(r))
		if n.duty == ghostOf(r) {
			n.duty = nobody
		}
		emit(actOf(serverSees, r), n)
		n = *s
	}
	if s.relay[r].at == dead {
		if w.restarts {
			n.relay[r] = relay{}
			emit(actOf(restart, r), n)
		}
		return
	}
	if s.crashes == 0 || !w.restarts && w.alive(s) == 1 {
		return
	}
	n.crashes--
	n.relay[r] = relay{at: dead}
	unlock(&n, of(r))
	if n.duty == of(r) {
		n.duty = nobody
	}
	emit(actOf(crash, r), n)
	if !w.vanishes {
		return
	}
	n = *s
	n.crashes--
	n.relay[r] = relay{at: dead}
	for e := range n.event {
		if n.event[e].held == of(r) {
			n.event[e].held = ghostOf(r)
		}
	}
	if n.duty == of(r) {
		n.duty = ghostOf(r)
	}
	emit(actOf(vanish, r), n)
}

// lost says that the server keeps locks of a process that is gone.
func (s *state) lost(r int) bool {
	for _, e := range s.event {
		if e.held == ghostOf(r) {
			return true
		}
	}
	return s.duty == ghostOf(r) && s.relay[r].at == dead
}

func (w *world) alive(s *state) int {
	n := 0
	for r := range w.relays {
		if s.relay[r].at != dead {
			n++
		}
	}
	return n
}

// elapse lets time go by, a tick, where nothing is about to happen: what a relay does takes no time beside the poll interval.
func (w *world) elapse(s *state, emit emit) {
	if w.alive(s) == 0 {
		return
	}
	n := *s
	for r := range w.relays {
		l := &n.relay[r]
		switch {
		case l.at == dead:
			continue
		case l.sent || l.at == asleep && l.heard:
			return
		case l.at == asleep || l.at == backingOff:
			if l.timer == 0 && (w.polls || l.at == backingOff) {
				return
			}
			l.timer -= min(l.timer, 1)
		case w.others && l.at == atGather && l.floor > mostEvents && l.scan > 0: // one of many passes over later events
		default:
			return
		}
		l.scan -= min(l.scan, 1)
	}
	for e := range n.event {
		if row := &n.event[e]; row.status == unmarked && !w.bad.has(e) {
			row.age = min(row.age+1, oldest)
		}
	}
	emit(actOf(tick, 0), n)
}

// oldest is the age in ticks at which counting ends: older is taken for unbounded.
const oldest = 120
