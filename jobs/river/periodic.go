package river

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/jobs"
)

const (
	periodicAttempts = 3
	endTimeout       = 5 * time.Second
)

// periodics are what the application declares to run by the clock.
type periodics struct {
	app     string
	list    []periodic
	queries *riversql.Queries
}

type periodic struct {
	jobs.Periodic
	schedule schedule
	text     string
	kind     string
}

// tick is the args of a periodic's job.
type tick struct {
	App  string    `json:"app"`
	Name string    `json:"name"`
	Slot time.Time `json:"slot"`
}

func newPeriodics(app string, declared []jobs.Periodic, queries *riversql.Queries) (*periodics, error) {
	p := &periodics{app: app, queries: queries}
	seen := map[string]bool{}
	for _, d := range declared {
		d, err := d.WithDefaults()
		if err != nil {
			return nil, err
		}
		if seen[d.Name] {
			return nil, fmt.Errorf("%w: periodic %q is declared twice", jobs.ErrInvalid, d.Name)
		}
		seen[d.Name] = true
		if err := jobs.CheckName("application", app); err != nil {
			return nil, fmt.Errorf("periodic %q: %w", d.Name, err)
		}
		kind := periodicKind(app, d.Name)
		if err := jobs.CheckName("periodic's kind", kind); err != nil {
			return nil, err
		}
		s, text, err := scheduleOf(d)
		if err != nil {
			return nil, err
		}
		p.list = append(p.list, periodic{Periodic: d, schedule: s, text: text, kind: kind})
	}
	return p, nil
}

// periodicKind is the kind of a periodic's jobs. It names the application: another one may declare the same name.
func periodicKind(app, name string) string { return periodicPrefix + app + "." + name }

func (p *periodics) kinds() []jobs.Kind {
	var kinds []jobs.Kind
	for _, one := range p.list {
		kinds = append(kinds, jobs.Kind{
			Name: one.kind, Queue: jobs.MaintenanceQueue, MaxAttempts: periodicAttempts, Timeout: one.Timeout,
			Handle: func(ctx context.Context, args json.RawMessage) error { return p.run(ctx, one, args) },
		})
	}
	return kinds
}

// run runs a tick and writes down when it began and how it ended.
func (p *periodics) run(ctx context.Context, one periodic, args json.RawMessage) (err error) {
	var t tick
	if err := json.Unmarshal(args, &t); err != nil {
		return jobs.Discard(fmt.Errorf("args of periodic %s: %w", one.Name, err))
	}
	begin := riversql.BeginPeriodicRunParams{App: t.App, Name: t.Name, Slot: t.Slot}
	if err := p.queries.BeginPeriodicRun(ctx, begin); err != nil {
		return fmt.Errorf("note the run of periodic %s: %w", one.Name, err)
	}
	failure := "panic" // stands where Run does not return
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		noted := p.queries.EndPeriodicRun(end, endOf(t, failure))
		if err == nil && noted != nil {
			err = fmt.Errorf("note the end of periodic %s: %w", one.Name, noted)
		}
	}()
	err = one.Run(ctx)
	failure = ""
	if err != nil {
		failure = storable(err.Error(), maxErrorBytes)
	}
	return err
}

func endOf(t tick, failure string) riversql.EndPeriodicRunParams {
	result := "ok"
	if failure != "" {
		result = "failed"
	}
	return riversql.EndPeriodicRunParams{App: t.App, Name: t.Name, Slot: t.Slot, Result: result, Error: failure}
}
