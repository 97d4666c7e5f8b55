package webhooks

import (
	"sync"
	"time"
)

// setbacks remembers when a request to an endpoint last failed in this process, so that lanes of the same endpoint ask before
// they send what they have set aside. It is a courtesy: what counts is in the database.
type setbacks struct {
	mu sync.Mutex
	at map[string]time.Time
}

// maxSetbacks bounds the memory; beyond it everything is forgotten, which costs a request at most.
const maxSetbacks = 10_000

func (s *setbacks) note(endpointID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil || len(s.at) >= maxSetbacks {
		s.at = map[string]time.Time{}
	}
	s.at[endpointID] = time.Now()
}

// since says whether there was one after the moment.
func (s *setbacks) since(endpointID string, moment time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at[endpointID].After(moment)
}
