package search

import (
	"context"
	"fmt"
	"time"

	"github.com/blevesearch/bleve/v2"
)

const (
	// batchMax is the most writes that share a batch.
	batchMax = 100
	// batchWait is how long the first write of a batch waits for company.
	batchWait = 2 * time.Millisecond
)

// write is one document, or its deletion, on its way into a batch.
type write struct {
	doc     Doc
	deleted bool
	done    chan outcome // has room for one
}

type outcome struct {
	applied bool
	err     error
}

// Put writes the document, unless the index has this version or a later one. It answers whether it did.
func (x *Index) Put(ctx context.Context, doc Doc) (applied bool, err error) {
	return x.submit(ctx, write{doc: doc})
}

// Delete removes the document, unless the index has a later version. It answers whether it did.
func (x *Index) Delete(ctx context.Context, id string, version int64) (applied bool, err error) {
	return x.submit(ctx, write{doc: Doc{ID: id, Version: version}, deleted: true})
}

func (x *Index) submit(ctx context.Context, w write) (bool, error) {
	w.done = make(chan outcome, 1)
	select {
	case x.writes <- w:
	case <-x.closed:
		return false, fmt.Errorf("%w: the index is closing", ErrUnavailable)
	case <-ctx.Done():
		return false, ctx.Err()
	}
	select {
	case out := <-w.done:
		return out.applied, out.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// run is the only writer.
func (x *Index) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case first := <-x.writes:
			x.apply(x.gather(first))
		}
	}
}

func (x *Index) gather(first write) []write {
	batch := []write{first}
	full := time.NewTimer(batchWait)
	defer full.Stop()
	for len(batch) < batchMax {
		select {
		case w := <-x.writes:
			batch = append(batch, w)
		case <-full.C:
			return batch
		case <-x.closed:
			return batch
		}
	}
	return batch
}

// apply writes what is newer than what the index has, and answers everybody once it is on disk.
func (x *Index) apply(writes []write) {
	batch, newest := x.bleve.NewBatch(), map[string]Version{}
	applied := make([]bool, len(writes))
	var err error
	for i, w := range writes {
		if w.doc.Version <= x.current(w.doc.ID, newest) {
			continue
		}
		if err = batch.Index(w.doc.ID, record(w)); err != nil {
			break
		}
		applied[i] = true
		newest[w.doc.ID] = Version{ID: w.doc.ID, Version: w.doc.Version, Deleted: w.deleted}
	}
	if err == nil && len(newest) > 0 {
		err = x.commit(batch, newest)
	}
	for i, w := range writes {
		if err != nil {
			w.done <- outcome{err: fmt.Errorf("%w: write the index: %w", ErrUnavailable, err)}
			continue
		}
		w.done <- outcome{applied: applied[i]}
	}
}

// current is the version that the batch, or else the index, has of a document.
func (x *Index) current(id string, newest map[string]Version) int64 {
	if v, ok := newest[id]; ok {
		return v.Version
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.versions[id].Version
}

func (x *Index) commit(batch *bleve.Batch, newest map[string]Version) error {
	if err := x.bleve.Batch(batch); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for id, v := range newest {
		x.versions[id] = v
	}
	return nil
}
