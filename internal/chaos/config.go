package chaos

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"
)

// Config says what is run and for how long.
type Config struct {
	// Duration is how long faults come; starting and draining are apart. Defaults to 1 min; at least 20 s.
	Duration time.Duration
	// Seed decides the plan and all chance of the writers, the sink and the handlers.
	Seed uint64
	// Plant builds the processes with one fault in the product; see Plants. Defaults to none.
	Plant string
	// Dir gets report.json, timeline.svg and what the processes said. It is made where it is not there. Required.
	Dir string
	// Buses is how many processes run the bus. Defaults to 3.
	Buses int
	// Rate is how many business transactions are begun in a second, over all writers. Defaults to 40.
	Rate int
	// Patience is how long the end may stand still before the checker is asked all the same. Defaults to 2.5 min: a lane of webhooks
	// that failed again and again waits up to a minute, and a sweep comes once a minute.
	Patience time.Duration
	// Binary is the program of the processes, which calls Child first. Defaults to this one.
	Binary string
	// Clock builds a second program whose clock can be off, for faults of the kind "clock". Without it, or with a Plant, there are none.
	Clock bool
	// Log is told how it goes. Defaults to slog.Default().
	Log *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	if c.Dir == "" {
		return c, errors.New("chaos: say in Config.Dir where the report goes")
	}
	if c.Duration == 0 {
		c.Duration = time.Minute
	}
	if c.Duration < 20*time.Second {
		return c, fmt.Errorf("chaos: Duration is %s; use 20s or more", c.Duration)
	}
	if c.Buses == 0 {
		c.Buses = 3
	}
	if c.Rate == 0 {
		c.Rate = 40
	}
	if c.Patience == 0 {
		c.Patience = 150 * time.Second
	}
	c.Clock = c.Clock && c.Plant == ""
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Binary == "" {
		self, err := os.Executable()
		if err != nil {
			return c, fmt.Errorf("chaos: %w", err)
		}
		c.Binary = self
	}
	return c, nil
}
