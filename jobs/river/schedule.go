package river

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/postbus/postbus/jobs"
)

// schedule is when a periodic ticks.
type schedule interface {
	// next is the first tick after t.
	next(t time.Time) time.Time
	// latest is the last tick at or before t; the zero time where there is none in the years before it.
	latest(t time.Time) time.Time
}

const everyPrefix = "every "

// scheduleOf answers a periodic's schedule and how it is written down.
func scheduleOf(p jobs.Periodic) (schedule, string, error) {
	text := p.Cron
	if p.Cron == "" {
		text = everyPrefix + p.Every.String()
	}
	s, err := parseSchedule(text)
	if err != nil {
		return nil, "", fmt.Errorf("periodic %q: %w", p.Name, err)
	}
	return s, text, nil
}

func parseSchedule(text string) (schedule, error) {
	if after, ok := strings.CutPrefix(text, everyPrefix); ok {
		d, err := time.ParseDuration(after)
		if err != nil || d < time.Second {
			return nil, fmt.Errorf("%w: %q is not a time between ticks of 1s or more", jobs.ErrInvalid, text)
		}
		return every(d), nil
	}
	if strings.Contains(text, "TZ=") || strings.HasPrefix(text, "@every") {
		return nil, fmt.Errorf("%w: cron expression %q: five fields in UTC or a descriptor such as @hourly; for intervals give Every", jobs.ErrInvalid, text)
	}
	s, err := cron.ParseStandard(text)
	if err != nil {
		return nil, fmt.Errorf("%w: cron expression %q: %w", jobs.ErrInvalid, text, err)
	}
	if s.Next(time.Now().UTC()).IsZero() {
		return nil, fmt.Errorf("%w: cron expression %q never ticks", jobs.ErrInvalid, text)
	}
	return cronSchedule{s}, nil
}

// every ticks at the multiples of its time since 1970.
type every time.Duration

func (e every) next(t time.Time) time.Time { return e.latest(t).Add(time.Duration(e)) }

func (e every) latest(t time.Time) time.Time {
	nanos := t.UnixNano()
	past := nanos % int64(e)
	if past < 0 {
		past += int64(e)
	}
	return time.Unix(0, nanos-past).UTC()
}

type cronSchedule struct{ cron.Schedule }

func (c cronSchedule) next(t time.Time) time.Time { return c.Next(t.UTC()).UTC() }

// latest looks back further and further for a tick, then forward to the last one: the library only looks forward.
func (c cronSchedule) latest(t time.Time) time.Time {
	t = t.UTC()
	for _, back := range []time.Duration{time.Minute, time.Hour, day, 31 * day, 366 * day, 8 * 366 * day} {
		// Next answers what is strictly after, in whole seconds: a tick at the very start of the span is the next span's.
		tick := c.Next(t.Add(-back).Add(-time.Second))
		if tick.IsZero() || tick.After(t) {
			continue
		}
		for {
			following := c.Next(tick)
			if following.IsZero() || following.After(t) {
				return tick.UTC()
			}
			tick = following
		}
	}
	return time.Time{}
}
