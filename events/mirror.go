package events

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/pg"
)

// Declare writes the application's declarations into the database and installs its captures. It adds and refreshes, and
// takes nothing away from other instances or applications. It is idempotent, and safe when many boot at once.
func (b *Bus) Declare(ctx context.Context) error {
	err := pg.InTx(ctx, b.pool, func(ctx context.Context, tx pgx.Tx) error {
		if err := b.mirror.declareTypes(ctx, tx); err != nil {
			return err
		}
		return b.mirror.declareSubscriptions(ctx, tx)
	})
	if err != nil {
		return err
	}
	return b.installCaptures(ctx)
}

// mirror keeps this process's declarations alive in the database.
type mirror struct {
	bus          *Bus
	names        []string // types
	declarations []eventsql.DeclareSubscriptionParams
	kept         []string // declarations that somebody else writes
	beat         *loop.Ticker
}

func newMirror(b *Bus) *mirror {
	m := &mirror{bus: b}
	for _, t := range b.types {
		m.names = append(m.names, t.Name)
	}
	for i, s := range b.cfg.Subscriptions {
		if s.Kept {
			m.kept = append(m.kept, s.Name)
			continue
		}
		kind, app := b.kinds[i], b.cfg.App
		if s.Shared {
			app = sharedApp
		}
		m.declarations = append(m.declarations, declaration(eventsql.DeclareSubscriptionParams{
			Name: s.Name, App: app, Types: s.Types, Coalesces: s.Coalesce, Batch: int32(s.Batch),
			Queue: kind.Queue, MaxAttempts: int32(kind.MaxAttempts), Effect: string(s.Effect),
		}))
	}
	m.beat = &loop.Ticker{Name: "events heartbeat", Interval: heartbeatEvery, Timeout: 2 * heartbeatEvery, Log: b.cfg.Log, Once: m.touch}
	return m
}

// sharedApp owns the subscriptions that no application owns.
const sharedApp = ""

// declaration fills in the hash by which equal declarations are one row.
func declaration(p eventsql.DeclareSubscriptionParams) eventsql.DeclareSubscriptionParams {
	raw, _ := json.Marshal(p) // strings, numbers and a bool: cannot fail
	sum := sha256.Sum256(raw)
	p.Declaration = hex.EncodeToString(sum[:8])
	return p
}

func (m *mirror) start(ctx context.Context) { m.beat.Start(ctx) }
func (m *mirror) stop()                     { m.beat.Stop() }

func (m *mirror) declareTypes(ctx context.Context, tx pgx.Tx) error {
	q := queries(tx)
	for _, t := range m.bus.types {
		n, err := q.DeclareType(ctx, eventsql.DeclareTypeParams{
			Name: t.Name, App: m.bus.cfg.App, Description: t.Description, Subject: t.Subject, Exposure: string(t.Exposure),
		})
		if err != nil {
			return fmt.Errorf("declare event type %q: %w", t.Name, err)
		}
		if n == 0 {
			owner, err := q.TypeOwner(ctx, eventsql.TypeOwnerParams{Name: t.Name})
			return errors.Join(foreign("event type", t.Name, owner), err)
		}
	}
	if m.bus.cfg.MaxDataBytes == defaultMaxDataBytes {
		return nil
	}
	return q.SetSetting(ctx, eventsql.SetSettingParams{
		Name: "max_data_bytes", Value: strconv.Itoa(m.bus.cfg.MaxDataBytes),
	})
}

func foreign(what, name, owner string) error {
	if owner == "" {
		owner = "(declared in SQL)"
	}
	return fmt.Errorf("%w: %s %q is declared by %s on this database: choose another name, or leave it out here and use theirs",
		ErrForeignName, what, name, owner)
}

func (m *mirror) declareSubscriptions(ctx context.Context, tx pgx.Tx) error {
	q := queries(tx)
	known, err := q.DeclaredTypes(ctx)
	if err != nil {
		return fmt.Errorf("read declared event types: %w", err)
	}
	for _, d := range m.declarations {
		if err := checkGlobsMatch(d, known); err != nil {
			return err
		}
		owner, err := q.SubscriptionOwner(ctx, eventsql.SubscriptionOwnerParams{
			Name: d.Name, App: d.App, GraceSeconds: grace.Seconds(),
		})
		if err == nil {
			return foreignSubscription(d, owner)
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("declare subscription %q: %w", d.Name, err)
		}
		if err := q.DeclareSubscription(ctx, d); err != nil {
			return fmt.Errorf("declare subscription %q: %w", d.Name, err)
		}
	}
	return nil
}

// foreignSubscription says that a name is another application's, or is shared where this declaration is not, or the other
// way round.
func foreignSubscription(d eventsql.DeclareSubscriptionParams, owner string) error {
	switch {
	case d.App == sharedApp:
		return fmt.Errorf("%w: subscription %q is declared by %s as its own: declare it as Shared everywhere and retire the old declaration, or choose another name",
			ErrForeignName, d.Name, owner)
	case owner == sharedApp:
		return fmt.Errorf("%w: subscription %q is shared by several applications: declare it as Shared too, or choose another name",
			ErrForeignName, d.Name)
	}
	return foreign("subscription", d.Name, owner)
}

// checkGlobsMatch refuses a glob that no declared type matches: it is a misspelling, and would stay silent for ever. "*" is
// none, and right where no type is declared yet.
func checkGlobsMatch(d eventsql.DeclareSubscriptionParams, known []eventsql.DeclaredTypesRow) error {
	for _, glob := range d.Types {
		matched := glob == "*"
		for _, t := range known {
			matched = matched || globMatches(glob, t.Name)
		}
		if !matched {
			return fmt.Errorf("%w: subscription %q: glob %q matches no declared event type: declare the type first, or mend the glob",
				ErrInvalid, d.Name, glob)
		}
	}
	return nil
}

// touch is the heartbeat: what this process declares was seen just now. Rows that somebody refreshed a moment ago are left
// alone, so that many instances of one application do not contend. A subscription retired under us is declared again.
func (m *mirror) touch(ctx context.Context) error {
	q := queries(m.bus.pool)
	fresh := (heartbeatEvery / 2).Seconds()
	if err := q.TouchTypes(ctx, eventsql.TouchTypesParams{App: m.bus.cfg.App, Names: m.names, FreshSeconds: fresh}); err != nil {
		return fmt.Errorf("refresh event types: %w", err)
	}
	hashes := slices.Clone(m.kept)
	for _, d := range m.declarations {
		hashes = append(hashes, d.Declaration)
	}
	_, err := q.TouchSubscriptions(ctx, eventsql.TouchSubscriptionsParams{Declarations: hashes, FreshSeconds: fresh})
	if err != nil {
		return fmt.Errorf("refresh subscriptions: %w", err)
	}
	return nil
}
