package letter

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// budget bounds one execution of a template.
type budget struct {
	ticks int
	until time.Time
}

// spent says that an execution is over its budget.
type spent struct{ text string }

func (s *spent) Error() string { return s.text }

func newBudget() *budget { return &budget{until: time.Now().Add(maxTime)} }

// tick counts one turn of a loop.
func (b *budget) tick() (string, error) {
	b.ticks++
	if b.ticks > maxTicks {
		return "", &spent{fmt.Sprintf("the template's loops turn more than %d times: loop over less", maxTicks)}
	}
	if b.ticks%100 == 0 && time.Now().After(b.until) {
		return "", &spent{fmt.Sprintf("the template takes more than %s: loop over less", maxTime)}
	}
	return "", nil
}

// sink keeps what a template makes, up to a limit.
type sink struct {
	text strings.Builder
	most int
	full bool
}

var errFull = errors.New("full")

func (s *sink) Write(p []byte) (int, error) {
	if room := s.most - s.text.Len(); len(p) > room {
		s.full = true
		s.text.Write(p[:room])
		return room, errFull
	}
	return s.text.Write(p)
}

func (s *sink) explain(name string, err error) error {
	if s.full {
		return fmt.Errorf("%s: it comes to more than %d bytes, the limit of a mail's body: show less of the data, for instance with truncate",
			name, s.most)
	}
	var over *spent
	if errors.As(err, &over) {
		return fmt.Errorf("%s: %w", name, over)
	}
	return fmt.Errorf("%s: %s", name, shorter(err))
}
