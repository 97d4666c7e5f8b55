package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/dbsqlc/worksql"
	"github.com/postbus/postbus/jobs"
)

// MaxWait is how long a claim may wait for work: less than an HTTP request may take.
const MaxWait = 20 * time.Second

// Item is a job in a worker's hands, with the event that it is about where it is a subscription's.
type Item struct {
	jobs.Leased
	Event *events.Event
}

// Claim takes jobs for a worker. Where there are none it waits, at most the given time, and may then answer none. Jobs that were
// claimed although the caller has gone come back when their lease ends.
func (s *Service) Claim(ctx context.Context, claim jobs.Claim, wait time.Duration) ([]Item, error) {
	if err := claim.Check(); err != nil {
		return nil, err
	}
	if wait < 0 || wait > MaxWait {
		return nil, fmt.Errorf("%w: a wait of %s; use 0 to %s", jobs.ErrInvalid, wait, MaxWait)
	}
	if err := s.known(ctx, claim.Kinds); err != nil {
		return nil, err
	}
	told, leave := s.waiters.join(claim.Kinds)
	defer leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end := time.NewTimer(wait)
	defer end.Stop()
	for {
		items, err := s.take(ctx, claim)
		if err != nil || len(items) > 0 || wait == 0 || told == nil {
			return items, err
		}
		look := time.NewTimer(lookEvery)
		select {
		case <-ctx.Done():
			look.Stop()
			return nil, ctx.Err()
		case <-end.C:
			look.Stop()
			return s.take(ctx, claim)
		case <-told:
		case <-look.C:
		}
		look.Stop()
	}
}

// known refuses kinds that nobody declared as external: a claim of them would wait for ever.
func (s *Service) known(ctx context.Context, kinds []string) error {
	unknown, err := worksql.New(s.pool).NotExternal(ctx, worksql.NotExternalParams{Kinds: kinds})
	if err != nil {
		return fmt.Errorf("look up kinds: %w", err)
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%w: %s not declared as external: declare with work.declare, in SQL, or in an application",
			jobs.ErrInvalid, strings.Join(unknown, ", "))
	}
	return nil
}

func (s *Service) take(ctx context.Context, claim jobs.Claim) ([]Item, error) {
	if err := worksql.New(s.pool).SeeWorker(ctx, worksql.SeeWorkerParams{Worker: claim.Worker, Kinds: claim.Kinds}); err != nil {
		return nil, fmt.Errorf("note the worker: %w", err)
	}
	leased, err := s.runtime.Leases().Claim(ctx, claim)
	if err != nil {
		return nil, err
	}
	items := make([]Item, len(leased))
	for i, l := range leased {
		items[i] = Item{Leased: l}
		if items[i].Event, err = s.eventOf(ctx, l); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// eventOf loads the event of a subscription's job; nil for a job that is none's.
func (s *Service) eventOf(ctx context.Context, job jobs.Leased) (*events.Event, error) {
	var args struct {
		EventID      string `json:"event_id"`
		Subscription string `json:"subscription"`
	}
	if json.Unmarshal(job.Args, &args) != nil || args.EventID == "" || args.Subscription != job.Kind {
		return nil, nil
	}
	found, err := s.events.Get(ctx, args.EventID)
	if errors.Is(err, events.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &found.Event, nil
}

// Extend holds a job for a lease from now on.
func (s *Service) Extend(ctx context.Context, id jobs.LeaseID, lease time.Duration) (time.Time, error) {
	return s.runtime.Leases().Extend(ctx, id, lease)
}

// Complete ends a job well, with a result or none.
func (s *Service) Complete(ctx context.Context, id jobs.LeaseID, result json.RawMessage) error {
	return s.runtime.Leases().Complete(ctx, id, result)
}

// Fail ends a job's attempt and answers its state then.
func (s *Service) Fail(ctx context.Context, id jobs.LeaseID, failure jobs.Failure) (jobs.State, error) {
	return s.runtime.Leases().Fail(ctx, id, failure)
}
