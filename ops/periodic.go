package ops

import (
	"context"
	"time"

	"github.com/postbus/postbus/jobs"
)

// Periodic is work that runs by the clock, and how it went.
type Periodic struct {
	App        string     `json:"app"`
	Name       string     `json:"name"`
	Schedule   string     `json:"schedule" doc:"every and a duration, or a cron expression in UTC"`
	Paused     bool       `json:"paused"`
	Next       *time.Time `json:"next,omitempty" doc:"The next tick; left out while it is paused"`
	LastSlot   *time.Time `json:"last_slot,omitempty" doc:"The tick that ran last"`
	LastRunAt  *time.Time `json:"last_run_at,omitempty"`
	LastResult string     `json:"last_result,omitempty" doc:"running, ok or failed; left out before the first run"`
	LastError  string     `json:"last_error,omitempty" maxLength:"1048576"`
	LastJob    string     `json:"last_job,omitempty" doc:"The id of its latest job"`
}

// PeriodicName names one periodic of one application.
type PeriodicName struct {
	App  string `json:"app" doc:"The application that declares it" minLength:"1" maxLength:"120"`
	Name string `json:"name" doc:"The periodic's name" minLength:"1" maxLength:"120"`
}

// PeriodicRun is the run that was begun by hand.
type PeriodicRun struct {
	JobID string `json:"job_id"`
}

func declarePeriodic(r *Registry) error {
	return firstError(
		add(r, Op[Paging, Listed[Periodic]]{
			Name: "tasks.periodic", Summary: "List what runs by the clock, with its last and next run", Access: Read, Global: true,
			Run: func(ctx context.Context, c *Call, in Paging) (Listed[Periodic], error) {
				all, err := c.tasks().Periodics(ctx)
				if err != nil {
					return Listed[Periodic]{}, err
				}
				return cut(listed(all, "", periodicOf).Items, "periodic", in, func(p Periodic) string { return p.App + "\n" + p.Name })
			},
		}),
		add(r, Op[PeriodicName, PeriodicRun]{
			Name: "tasks.run_periodic", Summary: "Run a periodic once now, apart from its schedule", Access: Act, Global: true,
			Run: func(ctx context.Context, c *Call, in PeriodicName) (PeriodicRun, error) {
				id, err := c.tasks().RunPeriodic(ctx, in.App, in.Name)
				return PeriodicRun{JobID: string(id)}, err
			},
		}),
		add(r, Op[PeriodicName, Done]{
			Name: "tasks.pause_periodic", Summary: "Stop a periodic's ticks", Access: Act, Global: true, Idempotent: true,
			Run: func(ctx context.Context, c *Call, in PeriodicName) (Done, error) {
				err := c.tasks().PausePeriodic(ctx, in.App, in.Name)
				return Done{Done: err == nil}, err
			},
		}),
		add(r, Op[PeriodicName, Done]{
			Name: "tasks.resume_periodic", Summary: "Let a periodic tick again; ticks of the pause do not run", Access: Act, Global: true, Idempotent: true,
			Run: func(ctx context.Context, c *Call, in PeriodicName) (Done, error) {
				err := c.tasks().ResumePeriodic(ctx, in.App, in.Name)
				return Done{Done: err == nil}, err
			},
		}),
	)
}

func periodicOf(p jobs.PeriodicStatus) Periodic {
	return Periodic{
		App: p.App, Name: p.Name, Schedule: p.Schedule, Paused: p.Paused, Next: p.Next, LastSlot: p.LastSlot, LastRunAt: p.LastRunAt,
		LastResult: p.LastResult, LastError: p.LastError, LastJob: string(p.LastJob),
	}
}
