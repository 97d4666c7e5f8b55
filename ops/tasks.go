package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/postbus/postbus/jobs"
)

// Task is a job as it is answered.
type Task struct {
	ID           string          `json:"id"`
	Kind         string          `json:"kind"`
	Queue        string          `json:"queue"`
	State        string          `json:"state" enum:"pending,running,retryable,completed,discarded,cancelled"`
	Args         json.RawMessage `json:"args"`
	OwnerID      string          `json:"owner_id,omitempty"`
	Trace        string          `json:"trace,omitempty"`
	Attempt      int             `json:"attempt"`
	MaxAttempts  int             `json:"max_attempts"`
	Snoozes      int             `json:"snoozes,omitempty"`
	CreatedAt    time.Time       `json:"created_at"`
	RunAt        time.Time       `json:"run_at"`
	AttemptedAt  *time.Time      `json:"attempted_at,omitempty"`
	FinishedAt   *time.Time      `json:"finished_at,omitempty"`
	Instance     string          `json:"instance,omitempty" doc:"The process, or the worker of an external kind, that holds or last held the job"`
	LeaseUntil   *time.Time      `json:"lease_until,omitempty" doc:"When the worker's lease of a running job of an external kind ends"`
	Result       json.RawMessage `json:"result,omitempty" doc:"What the handler or the worker said that it came to, any JSON"`
	Acknowledged bool            `json:"acknowledged,omitempty"`
	Errors       []TaskError     `json:"errors,omitempty"`
}

// TaskError is how one attempt failed.
type TaskError struct {
	Attempt int       `json:"attempt"`
	At      time.Time `json:"at"`
	Error   string    `json:"error" maxLength:"65536"`
	Stack   string    `json:"stack,omitempty" maxLength:"65536"`
}

// AuditOwner makes an act on the job a line of its owner's.
func (t Task) AuditOwner() string { return t.OwnerID }

// TaskID names one job.
type TaskID struct {
	ID string `json:"id" doc:"The job's id" minLength:"1" maxLength:"40"`
}

func declareTasks(r *Registry) error {
	return firstError(
		add(r, Op[TaskID, Task]{
			Name: "tasks.get", Summary: "Show one job with the error of every attempt", Access: Read, Run: getTask,
		}),
		add(r, Op[TaskID, Task]{
			Name: "tasks.retry", Summary: "Run a job again now, whatever attempts it has spent", Access: Act, Idempotent: true,
			Run: func(ctx context.Context, c *Call, in TaskID) (Task, error) {
				return actOnTask(ctx, c, in, c.tasks().Retry)
			},
		}),
		add(r, Op[TaskID, Task]{
			Name: "tasks.cancel", Summary: "End one job as cancelled; one that runs is asked to stop", Access: Act,
			Destructive: true, Idempotent: true, Preview: previewCancel,
			Run: func(ctx context.Context, c *Call, in TaskID) (Task, error) {
				return actOnTask(ctx, c, in, c.tasks().Cancel)
			},
		}),
		add(r, Op[TaskID, Task]{
			Name: "tasks.acknowledge", Summary: "Take note of a discarded job: its alert ends, the job stays", Access: Act, Idempotent: true,
			Run: acknowledgeTask,
		}),
		declareTaskList(r), declareTaskMany(r), declareTaskBulk(r), declareTaskOverview(r),
	)
}

// tasks is the inspector of the call's transaction.
func (c *Call) tasks() jobs.Inspector {
	if c.Tx != nil {
		return c.Runtime.Inspector().With(c.Tx)
	}
	return c.Runtime.Inspector()
}

func getTask(ctx context.Context, c *Call, in TaskID) (Task, error) {
	job, err := c.tasks().Get(ctx, jobs.JobID(in.ID))
	if errors.Is(err, jobs.ErrNotFound) {
		return Task{}, newError(NotFound, "%s", missing("job", in.ID)) // in the words in which another owner's is not found
	}
	if err != nil {
		return Task{}, err
	}
	return taskOf(job), c.Mine(job.Owner, "job", in.ID)
}

// actOnTask does it to a job that the caller may see.
func actOnTask(ctx context.Context, c *Call, in TaskID, do func(context.Context, jobs.JobID) (jobs.Job, error)) (Task, error) {
	if _, err := getTask(ctx, c, in); err != nil {
		return Task{}, err
	}
	job, err := do(ctx, jobs.JobID(in.ID))
	return taskOf(job), err
}

func previewCancel(ctx context.Context, c *Call, in TaskID) (Preview, error) {
	task, err := getTask(ctx, c, in)
	if err != nil {
		return Preview{}, err
	}
	if state := jobs.State(task.State); state == jobs.Completed || state == jobs.Cancelled {
		return Preview{Would: fmt.Sprintf("do nothing: job %s of kind %s is %s", task.ID, task.Kind, state)}, nil
	}
	return Preview{Would: fmt.Sprintf("cancel job %s of kind %s, which is %s", task.ID, task.Kind, task.State), Count: 1}, nil
}

func acknowledgeTask(ctx context.Context, c *Call, in TaskID) (Task, error) {
	return actOnTask(ctx, c, in, func(ctx context.Context, id jobs.JobID) (jobs.Job, error) {
		job, err := c.tasks().Get(ctx, id)
		if err != nil {
			return job, err
		}
		if job.State != jobs.Discarded {
			return job, newError(Conflict, "job %s is %s; only a discarded job is acknowledged", id, job.State)
		}
		if err := c.tasks().Acknowledge(ctx, id); err != nil {
			return job, err
		}
		return c.tasks().Get(ctx, id)
	})
}

func taskOf(j jobs.Job) Task {
	t := Task{
		ID: string(j.ID), Kind: j.Kind, Queue: j.Queue, State: string(j.State), Args: j.Args, OwnerID: j.Owner, Trace: j.Trace,
		Attempt: j.Attempt, MaxAttempts: j.MaxAttempts, Snoozes: j.Snoozes, CreatedAt: j.CreatedAt, RunAt: j.RunAt,
		AttemptedAt: j.AttemptedAt, FinishedAt: j.FinishedAt, Instance: j.Instance, LeaseUntil: j.Until, Result: j.Result, Acknowledged: j.Acknowledged,
	}
	for _, e := range j.Errors {
		t.Errors = append(t.Errors, TaskError{Attempt: e.Attempt, At: e.At, Error: e.Error, Stack: e.Stack})
	}
	return t
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
