package main

import (
	"time"

	"github.com/postbus/postbus/bench/internal/rig"
)

// plan says how much is measured.
type plan struct {
	quick bool
	// pairs is the number of interleaved rounds of a ratio, repeats that of anything else.
	pairs, repeats int
	// window is how long writers write on one side of a pair.
	window rig.Window
	// drained is how long a consumer may take to catch up after a window.
	drained time.Duration
	// backlog maps subscribers to the events that a relay drains.
	backlog map[int]int
	// pinnedBacklog is drained behind churned rows.
	churned, pinnedBacklog int
	// samples are taken one at a time, pause apart; steady is how long events come at a steady rate.
	samples            int
	pauseMin, pauseMax time.Duration
	steady             time.Duration
	// bulkRows is what one statement records.
	bulkRows int
	// hooks maps requests in flight to the deliveries that are drained; hookRate is how long events come for webhooks' latency,
	// fair how long receivers hang.
	hooks          map[int]int
	hookRate, fair time.Duration
	// claimable is the backlog that workers claim from, finished the jobs that lie beside it.
	claimable, finished int
	// paced is how long events come at a share of a system's peak, pinned how long they come while xmin is pinned.
	paced, pinned time.Duration
	// settle passes before the idle bus is watched for idle.
	settle, idle time.Duration
}

// Figures are judged from this many pairs, repeats and samples on.
const (
	enoughPairs   = 5
	enoughRepeats = 3
	enoughSamples = 300
)

func fullPlan() plan {
	return plan{
		pairs: 5, repeats: 3,
		window:  rig.Window{Warm: 500 * time.Millisecond, Count: 2500 * time.Millisecond},
		drained: 30 * time.Second,
		backlog: map[int]int{1: 20_000, 10: 5_000, 100: 1_000},
		churned: 200_000, pinnedBacklog: 40_000,
		samples: 300, pauseMin: 30 * time.Millisecond, pauseMax: 150 * time.Millisecond,
		steady:    10 * time.Second,
		bulkRows:  100_000,
		hooks:     map[int]int{1: 1_000, 8: 10_000, 32: 10_000},
		claimable: 40_000, finished: 1_000_000,
		hookRate: 10 * time.Second, fair: 15 * time.Second,
		paced: 6 * time.Second, pinned: time.Minute,
		settle: 5 * time.Second, idle: 20 * time.Second,
	}
}

// quickPlan runs every line of the full one in two minutes; most of what it gives is not fit to be judged.
func quickPlan() plan {
	return plan{
		quick: true, pairs: 2, repeats: 1,
		window:  rig.Window{Warm: 50 * time.Millisecond, Count: 300 * time.Millisecond},
		drained: 5 * time.Second,
		backlog: map[int]int{1: 2_000, 10: 400, 100: 200},
		churned: 10_000, pinnedBacklog: 2_000,
		samples: 40, pauseMin: 5 * time.Millisecond, pauseMax: 60 * time.Millisecond,
		steady:    time.Second,
		bulkRows:  100_000,
		hooks:     map[int]int{1: 100, 8: 300, 32: 600},
		claimable: 10_000, finished: 50_000,
		hookRate: time.Second, fair: time.Second,
		paced: time.Second, pinned: 2 * time.Second,
		settle: time.Second, idle: 2 * time.Second,
	}
}

func (p plan) judgesRatios() bool { return !p.quick && p.pairs >= enoughPairs }

func (p plan) judgesLatencies() bool {
	return !p.quick && p.repeats >= enoughRepeats && p.samples >= enoughSamples
}
