// Package jobs keeps a clock.
package jobs

import (
	_ "github.com/cenkalti/backoff/v5" // want retry
	"github.com/robfig/cron/v3"
	"time"
)

func clocks() {
	time.NewTicker(time.Second)            // want periodic
	time.AfterFunc(time.Second, clocks)    // want periodic
	cron.New()                             // want periodic
	_, _ = cron.ParseStandard("* * * * *") // it only reads
	time.NewTimer(time.Second)
}
