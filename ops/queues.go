package ops

import (
	"context"

	"github.com/postbus/postbus/jobs"
)

// Queue is one queue.
type Queue struct {
	Name      string `json:"name"`
	Paused    bool   `json:"paused"`
	Workers   int    `json:"workers" doc:"Of the process that answers"`
	Pending   Count  `json:"pending"`
	Running   Count  `json:"running"`
	Retryable Count  `json:"retryable"`
}

// QueueName names one queue.
type QueueName struct {
	Queue string `json:"queue" doc:"The queue's name" minLength:"1" maxLength:"120"`
}

func declareQueues(r *Registry) error {
	return firstError(
		add(r, Op[Paging, Listed[Queue]]{
			Name: "tasks.queues", Summary: "List the queues with their unfinished jobs", Access: Read, Global: true,
			Run: func(ctx context.Context, c *Call, in Paging) (Listed[Queue], error) {
				all, err := c.tasks().Queues(ctx)
				if err != nil {
					return Listed[Queue]{}, err
				}
				return cut(listed(all, "", queueOf).Items, "queue", in, func(q Queue) string { return q.Name })
			},
		}),
		add(r, Op[QueueName, Done]{
			Name: "tasks.pause", Summary: "Stop fetching from a queue in every process; jobs that run go on", Access: Act, Global: true, Idempotent: true,
			Run: func(ctx context.Context, c *Call, in QueueName) (Done, error) {
				err := c.tasks().Pause(ctx, in.Queue)
				return Done{Done: err == nil}, err
			},
		}),
		add(r, Op[QueueName, Done]{
			Name: "tasks.resume", Summary: "Fetch from a paused queue again", Access: Act, Global: true, Idempotent: true,
			Run: func(ctx context.Context, c *Call, in QueueName) (Done, error) {
				err := c.tasks().Resume(ctx, in.Queue)
				return Done{Done: err == nil}, err
			},
		}),
	)
}

func queueOf(q jobs.QueueStatus) Queue {
	return Queue{
		Name: q.Name, Paused: q.Paused, Workers: q.Workers,
		Pending: countOf(q.Pending), Running: countOf(q.Running), Retryable: countOf(q.Retryable),
	}
}
