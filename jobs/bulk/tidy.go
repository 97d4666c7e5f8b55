package bulk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/bulksql"
	"github.com/postbus/postbus/jobs"
)

// still is how long an open act has not moved before its job is looked at.
const still = time.Minute

// tidy forgets acts that have ended long ago, and ends those whose job has ended without them: it was cancelled, or its process
// died in its last attempt.
func (s *Service) tidy(ctx context.Context) error {
	if err := queries(s.pool).PruneActs(ctx, bulksql.PruneActsParams{KeepSeconds: kept.Seconds()}); err != nil {
		return fmt.Errorf("prune bulk acts: %w", err)
	}
	open, err := queries(s.pool).StillActs(ctx, bulksql.StillActsParams{StillSeconds: still.Seconds()})
	if err != nil {
		return fmt.Errorf("find bulk acts that do not move: %w", err)
	}
	for _, act := range open {
		if err := s.settle(ctx, act.ID, jobs.JobID(act.JobID)); err != nil {
			return fmt.Errorf("look after bulk act %s: %w", act.ID, err)
		}
	}
	return nil
}

func (s *Service) settle(ctx context.Context, id string, jobID jobs.JobID) error {
	job, err := s.runtime.Inspector().Get(ctx, jobID)
	end := bulksql.SetBackParams{ID: id, State: string(Failed), Error: fmt.Sprintf("its job %s is gone", jobID)}
	switch {
	case err == nil && !job.State.Final():
		return nil
	case err == nil && job.State == jobs.Cancelled:
		end.State, end.Error = string(Cancelled), fmt.Sprintf("its job %s was cancelled", jobID)
	case err == nil:
		end.Error = fmt.Sprintf("its job %s is %s: retry the job to go on", jobID, job.State)
	case !errors.Is(err, jobs.ErrNotFound):
		return err
	}
	return queries(s.pool).SetBack(ctx, end)
}
