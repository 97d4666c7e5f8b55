// Package loop may make goroutines and tickers.
package loop

import (
	"context"
	"time"
)

// Run runs.
func Run() {
	go time.Sleep(time.Second)
	time.NewTicker(time.Second).Stop() // want periodic
}

// Sleep sleeps.
func Sleep(context.Context, time.Duration) error { return nil }
