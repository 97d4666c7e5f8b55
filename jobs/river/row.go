package river

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/riverqueue/river/rivertype"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/jobs"
)

func jobID(id int64) jobs.JobID { return jobs.JobID(strconv.FormatInt(id, 10)) }

// parseID answers the row's id. An id that we never gave names no job.
func parseID(id jobs.JobID) (int64, error) {
	number, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil || number < 1 || jobID(number) != id {
		return 0, fmt.Errorf("job %q: %w", id, jobs.ErrNotFound)
	}
	return number, nil
}

// parseIDs answers the ids that may name jobs.
func parseIDs(ids []jobs.JobID) []int64 {
	numbers := make([]int64, 0, len(ids))
	for _, id := range ids {
		if number, err := parseID(id); err == nil {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// shownState maps River's states to ours. waits says that an available job waits for its next attempt.
func shownState(state string, waits bool) jobs.State {
	switch rivertype.JobState(state) {
	case rivertype.JobStateRunning:
		return jobs.Running
	case rivertype.JobStateRetryable:
		return jobs.Retryable
	case rivertype.JobStateCompleted:
		return jobs.Completed
	case rivertype.JobStateDiscarded:
		return jobs.Discarded
	case rivertype.JobStateCancelled:
		return jobs.Cancelled
	case rivertype.JobStateAvailable:
		if waits {
			return jobs.Retryable
		}
	case rivertype.JobStatePending, rivertype.JobStateScheduled:
	}
	return jobs.Pending
}

// shownJob is the row as the port shows it.
func shownJob(row riversql.ListJobsRow) (jobs.Job, error) {
	var meta metadata
	if err := json.Unmarshal(row.Metadata, &meta); err != nil {
		return jobs.Job{}, fmt.Errorf("read the metadata of job %d: %w", row.ID, err)
	}
	job := jobs.Job{
		ID: jobID(row.ID), Kind: row.Kind, Queue: shownQueue(row.Queue), State: shownState(row.State, row.Waits), Args: row.Args,
		Owner: meta.Owner, Trace: meta.Trace, Attempt: int(row.Attempt), MaxAttempts: int(row.MaxAttempts), Snoozes: meta.Snoozes,
		CreatedAt: row.CreatedAt.UTC(), RunAt: row.ScheduledAt.UTC(), Instance: row.Instance,
		Acknowledged: meta.AcknowledgedAt != nil,
	}
	if meta.Args != "" {
		job.Args = json.RawMessage(meta.Args)
	}
	if meta.Result != "" && job.State == jobs.Completed {
		job.Result = json.RawMessage(meta.Result)
	}
	if job.State == jobs.Running && strings.HasPrefix(job.Queue, jobs.ExternalQueues) {
		until := job.RunAt
		job.Until = &until
	}
	if row.AttemptedAt != nil {
		at := row.AttemptedAt.UTC()
		job.AttemptedAt = &at
	}
	if row.FinalizedAt != nil {
		at := row.FinalizedAt.UTC()
		job.FinishedAt = &at
	}
	for _, raw := range row.Errors {
		var e rivertype.AttemptError
		if err := json.Unmarshal(raw, &e); err != nil {
			return jobs.Job{}, fmt.Errorf("read the errors of job %d: %w", row.ID, err)
		}
		job.Errors = append(job.Errors, jobs.AttemptError{Attempt: e.Attempt, At: e.At.UTC(), Error: e.Error, Stack: e.Trace})
	}
	return job, nil
}
