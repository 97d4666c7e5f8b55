package jobs

import "time"

func inTests() { time.NewTicker(time.Second) }
