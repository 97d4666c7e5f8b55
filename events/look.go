package events

import (
	"context"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
)

// A page of a list looks at a bounded number of events, so that its cost does not grow with the history. What is asked for by one of
// owner, types, owner and subject, or status is found as a whole; a filter beside these is held against so many of the newest, and
// the next page goes on behind them.
const (
	// lookAll is of events that lie side by side, lookSome of those that an index names, a page of the table each.
	lookAll, lookSome = 2000, 200
	// recordOverlap is how far seqs and times may disagree: no statement that records takes as long.
	recordOverlap = time.Minute
)

// look is one page of a list under way.
type look struct {
	queries *eventsql.Queries
	params  eventsql.ListEventsParams
}

// page answers the events and the seq below which the next page goes on, 0 where nothing is left.
func (l *look) page(ctx context.Context) (rows []eventsql.ListEventsRow, next int64, err error) {
	if err := l.bound(ctx); err != nil {
		return nil, 0, err
	}
	floor, err := l.floor(ctx)
	if err != nil {
		return nil, 0, err
	}
	l.params.FromSeq = max(l.params.FromSeq, floor)
	if rows, err = l.list(ctx); err != nil {
		return nil, 0, err
	}
	if most := int(l.params.PageSize) - 1; len(rows) > most {
		return rows[:most], rows[most-1].Seq, nil
	}
	return rows, floor, nil
}

// bound narrows the seqs to those that the times leave.
func (l *look) bound(ctx context.Context) error {
	if since := l.params.Since; since != nil {
		seq, err := l.queries.FindSeqAt(ctx, eventsql.FindSeqAtParams{RecordedAt: since.Add(-recordOverlap)})
		if err != nil {
			return err
		}
		l.params.FromSeq = seq
	}
	if until := l.params.Until; until != nil {
		seq, err := l.queries.FindSeqAt(ctx, eventsql.FindSeqAtParams{RecordedAt: until.Add(recordOverlap)})
		if err != nil {
			return err
		}
		l.params.BeforeSeq = min(l.params.BeforeSeq, max(seq, 1))
	}
	return nil
}

// own says that the events are found by owner or by type; waiting and poisoned ones have an index of their own, and so has the
// subject of an owner.
func (l *look) own() bool {
	p := l.params
	indexed := p.Status == string(Pending) || p.Status == string(Poisoned) || p.OwnerID != "" && p.Subject != ""
	return !indexed && (p.OwnerID != "" || len(p.Types) > 0)
}

// rest says that the filter asks for more than the index answers.
func (l *look) rest() bool {
	p := l.params
	if p.Since != nil || p.Until != nil {
		return true
	}
	switch {
	case p.Status == string(Pending) || p.Status == string(Poisoned):
		return p.OwnerID != "" || p.Subject != "" || len(p.Types) > 0
	case p.OwnerID != "":
		return p.Status != "" || len(p.Types) > 0
	default:
		return p.Status != "" || p.Subject != ""
	}
}

// floor answers the seq down to which the page looks, 0 for all.
func (l *look) floor(ctx context.Context) (int64, error) {
	p, most := l.params, l.params.PageSize
	if l.own() {
		types := p.Types
		if p.OwnerID != "" {
			types = []string{}
		}
		if l.rest() {
			most = max(most, lookSome)
		}
		return l.queries.LookAtOwn(ctx, eventsql.LookAtOwnParams{
			OwnerID: p.OwnerID, Types: types, BeforeSeq: p.BeforeSeq, FromSeq: p.FromSeq, Look: most, LookWaiting: lookAll,
		})
	}
	if !l.rest() {
		return 0, nil
	}
	params := eventsql.LookAtEventsParams{BeforeSeq: p.BeforeSeq, FromSeq: p.FromSeq, Look: max(most, lookAll)}
	switch {
	case p.Status == string(Pending) || p.Status == string(Poisoned):
		params.Status = p.Status
	case p.OwnerID != "":
		params.OwnerID, params.Subject = p.OwnerID, p.Subject
	}
	if params.Status == string(Poisoned) || params.Subject != "" {
		params.Look = max(most, lookSome)
	}
	return l.queries.LookAtEvents(ctx, params)
}

func (l *look) list(ctx context.Context) ([]eventsql.ListEventsRow, error) {
	if !l.own() {
		return l.queries.ListEvents(ctx, l.params)
	}
	p := l.params
	rows, err := l.queries.ListOwn(ctx, eventsql.ListOwnParams{
		BeforeSeq: p.BeforeSeq, FromSeq: p.FromSeq, OwnerID: p.OwnerID, Types: p.Types, Subject: p.Subject,
		Fanned: p.Status == string(Fanned), Since: p.Since, Until: p.Until, PageSize: p.PageSize,
	})
	out := make([]eventsql.ListEventsRow, len(rows))
	for i, row := range rows {
		out[i] = eventsql.ListEventsRow(row)
	}
	return out, err
}

// listedOf is an event without its data.
func listedOf(row eventsql.ListEventsRow) (Detail, error) {
	return detailOf(eventsql.PostbusEvent{
		ID: row.ID, Seq: row.Seq, Type: row.Type, OwnerID: row.OwnerID, Subject: row.Subject, OccurredAt: row.OccurredAt, Trace: row.Trace,
		FannedOutAt: row.FannedOutAt, Fanout: row.Fanout, Attempts: row.Attempts, LastError: row.LastError,
		NextAttemptAt: row.NextAttemptAt, PoisonedAt: row.PoisonedAt,
	})
}
