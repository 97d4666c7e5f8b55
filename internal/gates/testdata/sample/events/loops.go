package events

import (
	clock "time"
)

func loops() {
	go loops()                    // want goroutine
	clock.Sleep(clock.Second)     // want clock
	clock.NewTicker(clock.Second) // want clock periodic
	<-clock.Tick(clock.Second)    // want clock periodic
	pause := clock.Sleep          // want clock
	pause(clock.Since(clock.Time{}))
}
