package ops

import (
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// maxFailures is how many logins of a name or from an address may fail within failureWindow.
	maxFailures   = 5
	failureWindow = time.Minute
	// maxCounted is how many names and addresses are counted; beyond it the one whose last failure is oldest is forgotten.
	maxCounted = 10_000
)

// limiter counts failures by key, in memory.
type limiter struct {
	mu     sync.Mutex
	max    int
	failed map[string][]*time.Time // of the last minute, oldest first
}

func newLimiter() *limiter { return &limiter{max: maxCounted, failed: map[string][]*time.Time{}} }

// attempt is a login that counts as a failure unless it is forgotten: many at once cannot slip by the limit.
type attempt struct {
	limiter *limiter
	keys    []string
	at      *time.Time
}

// begin counts an attempt under each key, or says how long to wait where one has had its failures.
func (l *limiter) begin(now time.Time, keys []string) (attempt, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var wait time.Duration
	for _, key := range keys {
		if recent := l.recent(now, key); len(recent) >= maxFailures {
			wait = max(wait, recent[0].Add(failureWindow).Sub(now))
		}
	}
	if wait > 0 {
		return attempt{}, wait
	}
	for _, key := range keys {
		if _, ok := l.failed[key]; !ok && len(l.failed) >= l.max {
			l.makeRoom(now)
		}
		l.failed[key] = append(l.failed[key], &now)
	}
	return attempt{limiter: l, keys: keys, at: &now}, 0
}

// forget takes the attempt back: it was no failure.
func (a attempt) forget() {
	a.limiter.mu.Lock()
	defer a.limiter.mu.Unlock()
	for _, key := range a.keys {
		a.limiter.keep(key, slices.DeleteFunc(a.limiter.failed[key], func(at *time.Time) bool { return at == a.at }))
	}
}

// recent drops what is over a minute old.
func (l *limiter) recent(now time.Time, key string) []*time.Time {
	all, ok := l.failed[key]
	if !ok {
		return nil
	}
	return l.keep(key, slices.DeleteFunc(all, func(at *time.Time) bool { return !now.Before(at.Add(failureWindow)) }))
}

func (l *limiter) keep(key string, failures []*time.Time) []*time.Time {
	if len(failures) == 0 {
		delete(l.failed, key)
		return nil
	}
	l.failed[key] = failures
	return failures
}

func (l *limiter) makeRoom(now time.Time) {
	oldest, at := "", now
	for key := range l.failed {
		recent := l.recent(now, key)
		if len(recent) == 0 {
			continue
		}
		if last := *recent[len(recent)-1]; oldest == "" || last.Before(at) {
			oldest, at = key, last
		}
	}
	if len(l.failed) >= l.max {
		delete(l.failed, oldest)
	}
}

// failureKeys are what a login is counted under. Names that no account can have are cut: they fail anyway.
func failureKeys(name, remoteAddr string) []string {
	var keys []string
	if name != "" {
		keys = append(keys, "name:"+name[:min(len(name), 65)])
	}
	if remoteAddr == "" {
		return keys
	}
	host := remoteAddr
	if withPort, err := netip.ParseAddrPort(remoteAddr); err == nil {
		host = withPort.Addr().String()
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return append(keys, "address:"+host[:min(len(host), 100)])
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		if network, err := addr.Prefix(64); err == nil {
			addr = network.Addr()
		}
	}
	return append(keys, "address:"+addr.String())
}

// seconds rounds up: a caller who waits that long is let in.
func seconds(wait time.Duration) int64 { return int64((wait + time.Second - 1) / time.Second) }
