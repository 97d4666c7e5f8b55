// Package loop may make goroutines and tickers.
package loop

import "time"

// Run runs.
func Run() {
	go time.Sleep(time.Second)
	time.NewTicker(time.Second).Stop()
}
