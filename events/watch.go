package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/internal/loop"
)

// Types of the events that tell of alerts. They belong to nobody, so that every application may record them. Their subject is the
// alert's name, and / and what it is about where it is about one thing; their data is an AlertNotice.
const (
	AlertRaised  = "postbus.alert.raised"
	AlertCleared = "postbus.alert.cleared"
)

const (
	lookEvery = 30 * time.Second
	// lookFresh is how old a look of another process may be to be good enough.
	lookFresh = 20 * time.Second
	// absentFor is how long before this look the first one lies that did not find the alert. It is under lookEvery with its
	// jitter: two looks in a row will do.
	absentFor = 15 * time.Second
	// mostAbout is how many things of one alert are told of. Where there are as many, others may stand unseen, so that none is
	// cleared.
	mostAbout = 20
)

// AlertSource is a room that has alerts.
type AlertSource struct {
	// Names are all that Look may answer: what is among them and not answered does not stand.
	Names []string
	// Look answers what stands now.
	Look func(ctx context.Context) ([]Alert, error)
}

// AddAlerts has the watcher look at another room's alerts, too. It must be called before Start.
func (b *Bus) AddAlerts(s AlertSource) { b.watch.sources = append(b.watch.sources, s) }

// LookAtAlerts makes one look at once: what newly stands is raised, and what was absent in the look before and still is gets
// cleared, each with its event. It does nothing without Config.AlertOwner.
func (b *Bus) LookAtAlerts(ctx context.Context) error {
	if b.cfg.AlertOwner == "" {
		return nil
	}
	return b.watch.look(ctx, 0)
}

// watch tells of alerts by events.
type watch struct {
	bus     *Bus
	sources []AlertSource
	begun   bool
	ticker  *loop.Ticker
}

func newWatch(b *Bus) *watch {
	w := &watch{bus: b, sources: []AlertSource{{
		Names: []string{AlertBacklog, AlertPoisoned, AlertDiscarded, AlertOrphaned}, Look: b.Alerts,
	}}}
	w.ticker = &loop.Ticker{Name: "alerts", Interval: lookEvery, Log: b.cfg.Log, Once: w.pass}
	return w
}

func (w *watch) start(ctx context.Context) {
	if w.bus.cfg.AlertOwner != "" {
		w.ticker.Start(ctx)
	}
}

func (w *watch) stop() { w.ticker.Stop() }

// pass leaves out the first look: what a process finds at its start is what piled up while there was none, and is about to go.
func (w *watch) pass(ctx context.Context) error {
	if !w.begun {
		w.begun = true
		return nil
	}
	return w.look(ctx, lookFresh)
}

// look compares what stands with what was told, unless somebody did so within fresh.
func (w *watch) look(ctx context.Context, fresh time.Duration) error {
	lookedAt, err := queries(w.bus.pool).ClaimAlertLook(ctx, eventsql.ClaimAlertLookParams{
		OwnerID: w.bus.cfg.AlertOwner, Watches: strings.Join(w.names(), ","), FreshSeconds: fresh.Seconds(),
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at alerts: %w", err)
	}
	found := finding{lookedAt: lookedAt, watched: w.names(), crowded: map[string]bool{}}
	for _, s := range w.sources {
		alerts, err := s.Look(ctx)
		if err != nil {
			return err
		}
		for _, a := range alerts {
			found.add(a)
		}
	}
	slices.SortFunc(found.standing, standing.compare)
	return w.tell(ctx, found)
}

func (w *watch) names() []string {
	var names []string
	for _, s := range w.sources {
		names = append(names, s.Names...)
	}
	slices.Sort(names)
	return names
}
