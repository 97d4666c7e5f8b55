package search

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/blevesearch/bleve/v2"

	"github.com/postbus/postbus/internal/loop"
)

const (
	// lockWait is how long Open waits for another process to let go of the index.
	lockWait = "2s"
	// loadPage is how many versions are read at a time when the index is opened.
	loadPage = 5000
)

// Index is the documents on disk. One process at a time has it open.
type Index struct {
	bleve  bleve.Index
	writes chan write
	closed chan struct{}
	runner loop.Runner

	mu       sync.RWMutex
	versions map[string]Version
}

// Open opens the index in dir and makes it where there is none. Close it.
func Open(dir string, log *slog.Logger) (*Index, error) {
	b, err := openBleve(dir)
	if err != nil {
		return nil, fmt.Errorf("open the search index in %s: %w", dir, err)
	}
	x := &Index{bleve: b, writes: make(chan write), closed: make(chan struct{}), versions: map[string]Version{}}
	if err := x.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("read the search index in %s: %w", dir, err), b.Close())
	}
	x.runner.Name, x.runner.Log = "search index", log
	x.runner.Start(context.Background(), x.run)
	return x, nil
}

func openBleve(dir string) (bleve.Index, error) {
	config := map[string]any{"bolt_timeout": lockWait}
	b, err := bleve.OpenUsing(dir, config)
	switch {
	case errors.Is(err, bleve.ErrorIndexPathDoesNotExist):
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			return nil, err
		}
		m, err := newMapping()
		if err != nil {
			return nil, err
		}
		return bleve.NewUsing(dir, m, bleve.Config.DefaultIndexType, bleve.Config.DefaultKVStore, config)
	case err != nil && err.Error() == "timeout":
		return nil, errors.New("another process has it open: share that one's search service with --search-url, or use another --data")
	}
	return b, err
}

// load reads every document's version, tombstones too, by pages in the order of ids.
func (x *Index) load() error {
	req := bleve.NewSearchRequestOptions(bleve.NewMatchAllQuery(), loadPage, 0, false)
	req.Fields = []string{fieldVersion, fieldDeleted}
	req.SortBy([]string{"_id"})
	for {
		page, err := x.bleve.Search(req)
		if err != nil {
			return err
		}
		for _, hit := range page.Hits {
			version, _ := hit.Fields[fieldVersion].(float64)
			deleted, _ := hit.Fields[fieldDeleted].(bool)
			x.versions[hit.ID] = Version{ID: hit.ID, Version: int64(version), Deleted: deleted}
		}
		if len(page.Hits) < loadPage {
			return nil
		}
		req.SearchAfter = []string{page.Hits[len(page.Hits)-1].ID}
	}
}

// Close finishes the batch under way and closes the index. Writes that wait are refused as unavailable.
func (x *Index) Close() error {
	close(x.closed)
	x.runner.Stop()
	return x.bleve.Close()
}

// Get answers which version of the document the index has; a deleted one is ErrNotFound.
func (x *Index) Get(id string) (Version, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	v, ok := x.versions[id]
	if !ok || v.Deleted {
		return Version{}, fmt.Errorf("%w: %q", ErrNotFound, id)
	}
	return v, nil
}

// Lacking answers those ids whose version, or a later one, the index does not have.
func (x *Index) Lacking(want []Version) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	lacking := []string{}
	for _, w := range want {
		if x.versions[w.ID].Version < w.Version {
			lacking = append(lacking, w.ID)
		}
	}
	return lacking
}

// Count is the number of documents, tombstones left out.
func (x *Index) Count() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	n := 0
	for _, v := range x.versions {
		if !v.Deleted {
			n++
		}
	}
	return n
}
