package river

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivershared/baseservice"
	"github.com/riverqueue/river/rivershared/riverpilot"
	"github.com/riverqueue/river/rivertype"

	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// driver is River's pgx driver with our pilot and our listener in it (river/plugin.go, driverPlugin).
type driver struct {
	*riverpgxv5.Driver
	pilot *pilot
	ear   *ear
}

func (d *driver) PluginInit(*baseservice.Archetype) {}
func (d *driver) PluginPilot() riverpilot.Pilot     { return d.pilot }
func (d *driver) SupportsListener() bool            { return true }
func (d *driver) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener {
	return d.ear
}

// pilot stands between River's client and the database. It notes what is fetched, and takes over what River must not do
// here: record outcomes, rescue and prune.
type pilot struct {
	riverpilot.StandardPilot
	kinds   []string
	ear     *ear
	store   store
	flights *flights
	settler *settler
	pruner  *pruner
	driver  *riverpgxv5.Driver
}

var (
	_ riverpilot.Pilot           = (*pilot)(nil)
	_ riverpilot.PilotJobDeleter = (*pilot)(nil)
	_ riverpilot.PilotJobRescuer = (*pilot)(nil)
)

// JobGetAvailable fetches jobs of the declared kinds, and none of a queue that is paused. A row that River cannot decode never reaches a handler: its attempt
// fails here.
func (p *pilot) JobGetAvailable(
	ctx context.Context, exec riverdriver.Executor, state riverpilot.ProducerState, params *riverdriver.JobGetAvailableParams,
) (*riverdriver.JobGetAvailableResult, error) {
	if p.ear.holds(params.Queue) {
		return &riverdriver.JobGetAvailableResult{}, nil
	}
	params.Kind = p.kinds
	result, err := p.fetch(ctx, exec, state, params)
	if err != nil || result == nil {
		return result, err
	}
	p.flights.fetched(result.Jobs)
	for _, row := range result.Jobs {
		if bad := result.DecodeErrors[row.ID]; bad != nil {
			p.settler.add(outcome{
				runKey: keyOf(row.ID, row.AttemptedAt), attempt: row.Attempt,
				verdict: failed, err: fmt.Sprintf("the job's row cannot be read: %v", bad), wait: jobs.DefaultBackoff(row.Attempt),
			})
		}
	}
	return result, nil
}

// fetch is River's, in a transaction of its own where the database's default isolation asks for one.
func (p *pilot) fetch(
	ctx context.Context, exec riverdriver.Executor, state riverpilot.ProducerState, params *riverdriver.JobGetAvailableParams,
) (result *riverdriver.JobGetAvailableResult, err error) {
	err = p.store.do(ctx, func(ctx context.Context, db pg.DBTX) (err error) {
		if tx, ok := db.(pgx.Tx); ok {
			exec = p.driver.UnwrapExecutor(tx)
		}
		result, err = p.StandardPilot.JobGetAvailable(ctx, exec, state, params)
		return err
	})
	return result, err
}

// JobSetStateIfRunningMany records nothing: River's completer guards on the state alone and gives up after a few tries. Every
// run's outcome goes through the settler. The client takes an answer without rows for jobs that were deleted meanwhile
// (river/internal/jobcompleter, handleBatch).
func (p *pilot) JobSetStateIfRunningMany(
	context.Context, riverdriver.Executor, *riverdriver.JobSetStateIfRunningManyParams,
) ([]*rivertype.JobRow, error) {
	return nil, nil
}

// JobGetStuck finds nothing to rescue: River's rescuer discards kinds that the leader does not know. The reaper does it.
func (p *pilot) JobGetStuck(context.Context, riverdriver.Executor, *riverdriver.JobGetStuckParams) ([]*rivertype.JobRow, error) {
	return nil, nil
}

// JobDeleteBefore prunes by our rules and the database's clock.
func (p *pilot) JobDeleteBefore(ctx context.Context, _ riverdriver.Executor, _ *riverdriver.JobDeleteBeforeParams) (int, error) {
	return p.pruner.prune(ctx)
}
