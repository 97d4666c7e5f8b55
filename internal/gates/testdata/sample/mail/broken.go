package mail // want docgo

import "time"

func broken() {
	pool := newPool()       // want compile
	pool.Begin()            // want begin
	pool.Exec("x")          // want sql
	time.Sleep(time.Second) // want clock
}
