package river

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/jobs"
)

func (i *inspector) Queues(ctx context.Context) ([]jobs.QueueStatus, error) {
	rows, err := i.planned().CountQueues(ctx, riversql.CountQueuesParams{Most: overviewCap + 1})
	if err != nil {
		return nil, fmt.Errorf("list queues: %w", err)
	}
	waiting, err := i.planned().CountWaiting(ctx, riversql.CountWaitingParams{Most: overviewCap + 1})
	if err != nil {
		return nil, fmt.Errorf("count jobs that wait for an attempt: %w", err)
	}
	waits := map[string]int64{}
	for _, row := range waiting {
		waits[row.Queue] += row.N
	}
	queues := map[string]*jobs.QueueStatus{}
	for name, workers := range i.queues {
		queues[name] = &jobs.QueueStatus{Name: name, Workers: workers}
	}
	for _, row := range rows {
		name := shownQueue(row.Name)
		if queues[name] == nil {
			queues[name] = &jobs.QueueStatus{Name: name}
		}
		queues[name].Paused = row.Paused
		addQueueCount(queues[name], row, waits[row.Name])
	}
	var list []jobs.QueueStatus
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		list = append(list, *queues[name])
	}
	return list, nil
}

// addQueueCount adds a queue's jobs in one of River's states. waits are those of its available jobs that count as retryable.
func addQueueCount(queue *jobs.QueueStatus, row riversql.CountQueuesRow, waits int64) {
	add := func(to *jobs.Count, n int64) {
		to.N += n
		to.About = to.About || n > overviewCap
	}
	switch shownState(row.State, false) {
	case jobs.Running:
		add(&queue.Running, row.N)
	case jobs.Retryable:
		add(&queue.Retryable, row.N)
	default:
		if row.State != stateAvailable {
			waits = 0
		}
		waits = min(waits, row.N)
		add(&queue.Retryable, waits)
		add(&queue.Pending, row.N-waits)
	}
}

func (i *inspector) Pause(ctx context.Context, queue string) error {
	return i.mark(ctx, queue, pauseAction, func(stored string) (int64, error) {
		if _, works := i.queues[queue]; works {
			return ask(ctx, i.store, (*riversql.Queries).PauseOwnQueue, riversql.PauseOwnQueueParams{Name: stored})
		}
		return ask(ctx, i.store, (*riversql.Queries).PauseQueue, riversql.PauseQueueParams{Name: stored})
	})
}

func (i *inspector) Resume(ctx context.Context, queue string) error {
	return i.mark(ctx, queue, resumeAction, func(stored string) (int64, error) {
		n, err := ask(ctx, i.store, (*riversql.Queries).ResumeQueue, riversql.ResumeQueueParams{Name: stored})
		if _, works := i.queues[queue]; works && err == nil {
			n = 1 // known, though it was never paused
		}
		return n, err
	})
}

// mark writes a queue's mark and tells its producers.
func (i *inspector) mark(ctx context.Context, queue, action string, write func(stored string) (int64, error)) error {
	if checkQueue(queue) != nil {
		return fmt.Errorf("queue %q: %w", queue, jobs.ErrNotFound)
	}
	stored := storedQueue(queue)
	n, err := write(stored)
	if err != nil {
		return fmt.Errorf("%s queue %s: %w", action, queue, err)
	}
	if n == 0 {
		return fmt.Errorf("queue %s: %w", queue, jobs.ErrNotFound)
	}
	if err := i.queries().TellQueue(ctx, riversql.TellQueueParams{Action: action, Queue: stored}); err != nil {
		return fmt.Errorf("%s queue %s: %w", action, queue, err)
	}
	if i.ear != nil && i.store.tx == nil {
		i.ear.control(command{action, stored})
	}
	return nil
}
