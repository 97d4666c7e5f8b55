package postbus

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/mail"
	"github.com/postbus/postbus/webhooks"
)

// ownConns is what the bus holds of the pool all the time while it is busy: one for the relay's pass, one for the queue's
// fetches and records. A second pass beside the first (on pools of 8 and more, while the backlog is deep) and heartbeats are
// over in a moment, as handlers' queries are. The listener has a connection of its own, outside the pool.
const ownConns = 2

// webhookConns is what webhooks add: one for the lanes' bookkeeping. Requests that wait for an answer hold none.
const webhookConns = 1

// queuesFor settles how many workers each queue of the kinds gets.
func queuesFor(given map[string]int, kinds []jobs.Kind, withWebhooks bool) (queues map[string]int, err error) {
	queues = map[string]int{jobs.MaintenanceQueue: 1}
	known := defaultQueues()
	maps.Copy(known, mail.Queues())
	if withWebhooks {
		maps.Copy(queues, webhooks.Queues())
		maps.Copy(known, webhooks.Queues())
	}
	for _, k := range kinds {
		if k.External {
			continue // its workers are elsewhere
		}
		queues[k.Queue] = defaultWorkers
		if n, ok := known[k.Queue]; ok {
			queues[k.Queue] = n
		}
	}
	for name, n := range given {
		if n < 1 || n > 10_000 {
			return nil, fmt.Errorf("%w: Config.Queues[%q] is %d; use 1 to 10000", jobs.ErrInvalid, name, n)
		}
		queues[name] = n
	}
	return queues, nil
}

// fitBudget keeps what the bus holds of the pool (relay, the runtime's own, workers whose handlers hold a connection) within
// half of it: the other half is the application's and that of handlers in passing. Numbers that the application chose
// are refused with what to change; the house's own defaults are scaled down instead, so that a small pool starts.
func fitBudget(maxConns, own int, chosen map[string]int, queues map[string]int, kinds []jobs.Kind, log *slog.Logger) error {
	holding := map[string]bool{}
	for _, k := range kinds {
		holding[k.Queue] = holding[k.Queue] || k.HoldsConn
	}
	maps.DeleteFunc(holding, func(_ string, holds bool) bool { return !holds })
	need := func() int {
		n := own
		for queue := range holding {
			n += queues[queue]
		}
		return n
	}
	for _, queue := range slices.Sorted(maps.Keys(holding)) {
		before := queues[queue]
		for _, isChosen := chosen[queue]; !isChosen && queues[queue] > 1 && need() > maxConns/2; {
			queues[queue]--
		}
		if queues[queue] < before {
			log.Warn("queue scaled down to fit the connection pool; raise MaxConns to have them all",
				"queue", queue, "workers", queues[queue], "default", before, "max_conns", maxConns)
		}
	}
	if len(chosen) == 0 || need() <= maxConns/2 {
		return nil
	}
	return fmt.Errorf("%w: the bus would hold %d connections (%d its own, the rest workers of queues whose handlers hold one: %v) and the pool has %d: "+
		"set the pool's MaxConns to %d or more, or lower Config.Queues",
		jobs.ErrInvalid, need(), own, slices.Sorted(maps.Keys(holding)), maxConns, 2*need())
}
