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
	rows, err := i.planned().CountQueues(ctx, riversql.CountQueuesParams{Most: countCap + 1})
	if err != nil {
		return nil, fmt.Errorf("list queues: %w", err)
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
		addQueueCount(queues[name], row)
	}
	var list []jobs.QueueStatus
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		list = append(list, *queues[name])
	}
	return list, nil
}

func addQueueCount(queue *jobs.QueueStatus, row riversql.CountQueuesRow) {
	add := func(to *jobs.Count, n int64) {
		to.N += n
		to.About = to.About || row.N > countCap
	}
	switch shownState(row.State, false) {
	case jobs.Running:
		add(&queue.Running, row.N)
	case jobs.Retryable:
		add(&queue.Retryable, row.N)
	default:
		add(&queue.Pending, row.N-row.Waits*waitsCount(row.State))
		add(&queue.Retryable, row.Waits*waitsCount(row.State))
	}
}

// waitsCount is 1 for the one state whose waiting jobs count as retryable.
func waitsCount(state string) int64 {
	if state == stateAvailable {
		return 1
	}
	return 0
}

func (i *inspector) Pause(ctx context.Context, queue string) error {
	return i.mark(ctx, queue, "pause", func(stored string) (int64, error) {
		if _, works := i.queues[queue]; works {
			return i.queries().PauseOwnQueue(ctx, riversql.PauseOwnQueueParams{Name: stored})
		}
		return i.queries().PauseQueue(ctx, riversql.PauseQueueParams{Name: stored})
	})
}

func (i *inspector) Resume(ctx context.Context, queue string) error {
	return i.mark(ctx, queue, "resume", func(stored string) (int64, error) {
		n, err := i.queries().ResumeQueue(ctx, riversql.ResumeQueueParams{Name: stored})
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
	return nil
}
