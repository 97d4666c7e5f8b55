package events

import "time"

func elsewhere(pool interface{ Begin() }) {
	go elsewhere(nil)       // want goroutine
	pool.Begin()            // want begin
	time.Sleep(time.Second) // want clock
}
