package loop

import (
	"testing"
	"time"
)

func TestSleep(t *testing.T) {
	time.NewTicker(time.Second).Stop()
	time.Sleep(time.Nanosecond) // want clock
}
