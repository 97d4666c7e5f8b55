package pg

// Notification is what a subscription hears.
type Notification struct {
	Channel string
	Payload string // empty on a Resync
	// Resync says that notifications may have been missed: look again at what they tell about.
	Resync bool
}

// Subscription is one reader of a channel.
type Subscription struct {
	listener *Listener
	channel  string

	// Guarded by listener.mu, under which alone anything is sent or closed.
	c      chan Notification
	closed bool
}

// C returns the notifications in the order of their arrival. A reader that falls behind never
// holds up another: what it has not read is dropped, and a Resync stands in its place. C is closed
// by Close.
func (s *Subscription) C() <-chan Notification { return s.c }

// Close ends the subscription. Twice is fine.
func (s *Subscription) Close() {
	l := s.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	close(s.c)
	delete(l.subs[s.channel], s)
	if len(l.subs[s.channel]) == 0 {
		delete(l.subs, s.channel)
		l.changed = true
		l.poke()
	}
}

// push delivers without ever waiting. The listener's lock must be held.
func (s *Subscription) push(n Notification) {
	select {
	case s.c <- n:
		return
	default:
	}
	for {
		select {
		case <-s.c:
			continue
		default:
		}
		break
	}
	s.c <- Notification{Channel: s.channel, Resync: true} // there is room: nobody else sends
}

// dispatch hands a notification to the subscriptions of its channel.
func (l *Listener) dispatch(n Notification) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.subs[n.Channel] {
		s.push(n)
	}
}

// resync tells the subscriptions of some channels to look again. The lock must be held.
func (l *Listener) resync(channels ...string) {
	for _, channel := range channels {
		for s := range l.subs[channel] {
			s.push(Notification{Channel: channel, Resync: true})
		}
	}
}
