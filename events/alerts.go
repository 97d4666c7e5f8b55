package events

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/jobs"
)

// Names of alerts.
const (
	AlertBacklog   = "events_backlog"
	AlertPoisoned  = "events_poisoned"
	AlertDiscarded = "jobs_discarded"
	AlertOrphaned  = "orphaned_kind"
)

const (
	backlogEvents = 1000
	backlogAge    = 5 * time.Minute
	countCap      = 2000
)

// Alert is something that a person should see to. It stands as long as its cause does.
type Alert struct {
	// Name is one of the Alert constants.
	Name string
	// Count is how many events, jobs or kinds it is about; counting stops at a cap of 2,000, beyond which jobs
	// are the planner's estimate.
	Count int64
	// Message says what is the matter, WayOut what ends it.
	Message, WayOut string
	// About names the kinds of an orphaned_kind alert.
	About []string
}

// Alerts answers what stands now, read from the tables: nothing is remembered, so nothing can be stale.
func (b *Bus) Alerts(ctx context.Context) ([]Alert, error) {
	var alerts []Alert
	overview, err := b.runtime.Inspector().Overview(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("read alerts: %w", err)
	}
	for _, look := range []func(context.Context) (*Alert, error){
		b.backlogAlert, b.poisonedAlert,
		func(context.Context) (*Alert, error) { return discardedAlert(overview), nil },
		func(ctx context.Context) (*Alert, error) { return b.orphanedAlert(ctx, overview) },
	} {
		alert, err := look(ctx)
		if err != nil {
			return nil, fmt.Errorf("read alerts: %w", err)
		}
		if alert != nil {
			alerts = append(alerts, *alert)
		}
	}
	return alerts, nil
}

func (b *Bus) backlogAlert(ctx context.Context) (*Alert, error) {
	row, err := queries(b.pool).Backlog(ctx, eventsql.BacklogParams{Cap: countCap})
	oldest := time.Duration(row.OldestSeconds * float64(time.Second)).Round(time.Second)
	if err != nil || (row.Events <= backlogEvents && oldest <= backlogAge) {
		return nil, err
	}
	return &Alert{
		Name: AlertBacklog, Count: row.Events,
		Message: fmt.Sprintf("%d events wait for a relay, the oldest for %s", row.Events, oldest),
		WayOut:  "See that a process with the bus runs, and read its log for failing passes.",
	}, nil
}

func (b *Bus) poisonedAlert(ctx context.Context) (*Alert, error) {
	n, err := queries(b.pool).CountPoisoned(ctx, eventsql.CountPoisonedParams{Cap: countCap})
	if err != nil || n == 0 {
		return nil, err
	}
	return &Alert{
		Name: AlertPoisoned, Count: n, Message: fmt.Sprintf("%d events could not be fanned out and are set aside", n),
		WayOut: "Read the event's last error, remove the cause, and requeue the event.",
	}, nil
}

func discardedAlert(overview jobs.Overview) *Alert {
	if overview.Unacked.N == 0 {
		return nil
	}
	return &Alert{
		Name: AlertDiscarded, Count: overview.Unacked.N,
		Message: fmt.Sprintf("%d jobs failed for good", overview.Unacked.N),
		WayOut:  "Read the job's errors, then retry, cancel or acknowledge it.",
	}
}

// orphanedAlert finds kinds that have jobs and no living process that runs them.
func (b *Bus) orphanedAlert(ctx context.Context, overview jobs.Overview) (*Alert, error) {
	living, err := queries(b.pool).LivingKinds(ctx, eventsql.LivingKindsParams{LivingSeconds: together.Seconds()})
	if err != nil {
		return nil, err
	}
	var orphans []string
	for _, kind := range slices.Sorted(maps.Keys(overview.Kinds)) {
		if unfinished(overview.Kinds[kind]) > 0 && !slices.Contains(living, kind) {
			orphans = append(orphans, kind)
		}
	}
	if len(orphans) == 0 {
		return nil, nil
	}
	return &Alert{
		Name: AlertOrphaned, Count: int64(len(orphans)), About: orphans,
		Message: "kinds with jobs and no living process that runs them: " + strings.Join(orphans, ", "),
		WayOut:  "Start a process that declares the kind, or cancel its jobs.",
	}, nil
}

func unfinished(c jobs.KindCounts) int64 { return c.Pending.N + c.Running.N + c.Retryable.N }
