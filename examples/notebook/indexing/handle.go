package indexing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/examples/notebook/note"
	"github.com/postbus/postbus/examples/notebook/search"
	"github.com/postbus/postbus/jobs"
)

// change is the data of an event, as the capture records it.
type change struct {
	Op      string `json:"op"`
	Version int64  `json:"version"`
}

// handle indexes the note as it stands now, whatever the event said of it.
func (x *Indexer) handle(ctx context.Context, e events.Event) error {
	var c change
	if err := json.Unmarshal(e.Data, &c); err != nil || c.Version < 1 {
		return jobs.Discard(fmt.Errorf("event %s carries no version: %s", e.ID, e.Data))
	}
	return verdict(x.bring(ctx, e.Subject, c.Version))
}

// bring writes the note, or its deletion, to the search service. The deletion's version is the one after seen: if that
// is not the last one that the note had, the deletion's own event follows with the last.
func (x *Indexer) bring(ctx context.Context, id string, seen int64) error {
	n, err := x.Notes.Get(ctx, id)
	if errors.Is(err, note.ErrNotFound) {
		return x.Search.Delete(ctx, id, seen+1)
	}
	if err != nil {
		return err
	}
	return x.Search.Put(ctx, search.Doc{ID: n.ID, Version: n.Version, Title: n.Title, Body: n.Body, Path: n.File()})
}

// verdict ends a job that the service will never accept; every other error is tried again by the job layer.
func verdict(err error) error {
	if errors.Is(err, search.ErrRefused) {
		return jobs.Discard(err)
	}
	return err
}

// reconcilePage is how many notes are compared at a time.
const reconcilePage = 1000

// reconcile indexes every note that the service lacks, or has in an older version.
func (x *Indexer) reconcile(ctx context.Context, _ json.RawMessage) error {
	return verdict(x.Notes.Versions(ctx, reconcilePage, func(page []note.Version) error {
		have := map[string]int64{}
		want := make([]search.Version, len(page))
		for i, v := range page {
			have[v.ID] = v.Version
			want[i] = search.Version{ID: v.ID, Version: v.Version}
		}
		lacking, err := x.Search.Lacking(ctx, want)
		if err != nil {
			return err
		}
		for _, id := range lacking {
			if err := x.bring(ctx, id, have[id]); err != nil {
				return err
			}
		}
		return nil
	}))
}
