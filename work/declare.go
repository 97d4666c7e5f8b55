package work

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/worksql"
	"github.com/postbus/postbus/jobs"
)

// Declaration is an external kind, or with Types a subscription, that belongs to no application and does not expire.
type Declaration struct {
	// Name has words of a-z and 0-9 with one of . _ - between them, at most 59 bytes.
	Name string
	// Types are a subscription's globs: each event that matches makes a job. None makes a kind, whose jobs somebody enqueues.
	Types []string
	// Coalesce is events.Subscription.Coalesce.
	Coalesce bool
	// MaxAttempts defaults to 8.
	MaxAttempts int
	// Lease is how long a claim that says nothing holds a job. Defaults to 1 minute.
	Lease time.Duration
	// Waits are those after each failed attempt, the last for all that follow, each ± 10 %. Default to 2 s, doubling to 10 minutes.
	Waits []time.Duration
	// Description says what the work is.
	Description string
}

// External is an external kind as it stands in the database.
type External struct {
	Declaration
	// App is the application that declares it, "" for nobody's.
	App string
	// SeenAt is when it was declared last, or its application was seen.
	SeenAt time.Time
	// Workers is how many workers, by name, claimed it in the last five minutes.
	Workers int
}

// Worker is one that claimed within the last day.
type Worker struct {
	Name   string
	Kinds  []string
	SeenAt time.Time
}

// Declare declares or changes an external kind or subscription. One that an application declares is refused.
func (s *Service) Declare(ctx context.Context, d Declaration) error {
	if d.MaxAttempts == 0 {
		d.MaxAttempts = jobs.DefaultMaxAttempts
	}
	if d.Lease == 0 {
		d.Lease = jobs.DefaultTimeout
	}
	waits := make([]int64, 0, len(d.Waits))
	for _, wait := range d.Waits {
		waits = append(waits, wait.Microseconds())
	}
	for wait := 2 * time.Second; len(d.Waits) == 0 && len(waits) < 10; wait *= 2 {
		waits = append(waits, min(wait, 10*time.Minute).Microseconds())
	}
	var err error
	if len(d.Types) == 0 {
		err = s.queries().DeclareKind(ctx, worksql.DeclareKindParams{
			Kind: d.Name, MaxAttempts: int32(d.MaxAttempts), LeaseUs: d.Lease.Microseconds(), WaitsUs: waits, Description: d.Description,
		})
	} else {
		err = s.queries().DeclareSubscription(ctx, worksql.DeclareSubscriptionParams{
			Name: d.Name, Types: d.Types, MaxAttempts: int32(d.MaxAttempts), LeaseUs: d.Lease.Microseconds(), WaitsUs: waits,
			Coalesces: d.Coalesce, Description: d.Description,
		})
	}
	return refusal(err)
}

// Retire takes back what Declare declared. Jobs that are there stay.
func (s *Service) Retire(ctx context.Context, name string) error {
	return refusal(s.queries().RetireKind(ctx, worksql.RetireKindParams{Kind: name}))
}

// Enqueue makes a job of a declared kind, external or not, through the outbox, and answers the id of its event.
func (s *Service) Enqueue(ctx context.Context, kind string, args json.RawMessage, runAt time.Time, owner string) (string, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	id, err := s.queries().Enqueue(ctx, worksql.EnqueueParams{Kind: kind, Args: string(args), RunAt: runAt.UTC(), Owner: owner})
	return id, refusal(err)
}

// Kinds lists the external kinds by name, those after the given one.
func (s *Service) Kinds(ctx context.Context, after string, most int) ([]External, error) {
	rows, err := s.queries().ListExternal(ctx, worksql.ListExternalParams{After: after, Most: int32(most)})
	if err != nil {
		return nil, fmt.Errorf("list external kinds: %w", err)
	}
	kinds := make([]External, len(rows))
	for i, row := range rows {
		kinds[i] = External{App: row.App, SeenAt: row.SeenAt.UTC(), Workers: int(row.Workers), Declaration: Declaration{
			Name: row.Name, Types: row.Types, MaxAttempts: int(row.MaxAttempts), Description: row.Description,
			Lease: time.Duration(row.LeaseUs) * time.Microsecond,
		}}
		for _, us := range row.WaitsUs {
			kinds[i].Waits = append(kinds[i].Waits, time.Duration(us)*time.Microsecond)
		}
	}
	return kinds, nil
}

// Workers lists the workers by name, those after the given one.
func (s *Service) Workers(ctx context.Context, after string, most int) ([]Worker, error) {
	rows, err := s.queries().ListWorkers(ctx, worksql.ListWorkersParams{After: after, Most: int32(most)})
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	workers := make([]Worker, len(rows))
	for i, row := range rows {
		workers[i] = Worker{Name: row.Name, Kinds: row.Kinds, SeenAt: row.SeenAt.UTC()}
	}
	return workers, nil
}
