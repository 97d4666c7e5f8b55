package note

import (
	"context"
	"fmt"
	"time"

	"github.com/postbus/postbus/examples/notebook/note/notesql"
)

// Identity answers a name for this notebook, the same for as long as its tables are there.
func (s *Store) Identity(ctx context.Context) (string, error) {
	row, err := s.q().Identity(ctx)
	if err != nil {
		return "", fmt.Errorf("read the notebook's identity: %w", err)
	}
	return row.ID, nil
}

// The services of which a database has one, whoever runs it.
const (
	searchService   = "search"
	receiverService = "receiver"
)

// OwnSearch claims the one search service of this database, at url, until release is called or the process ends: two
// indexes that are fed from one queue would each lack what the other got. Where another process has claimed it, owned is
// false and the answer is that one's address.
func (s *Store) OwnSearch(ctx context.Context, url string) (owned bool, other string, release func(), err error) {
	owned, release, err = s.own(ctx, searchService)
	if err != nil {
		return false, "", nil, err
	}
	if !owned {
		row, err := s.q().Identity(ctx)
		return false, row.SearchUrl, nil, err
	}
	if err := s.q().SetSearchURL(ctx, notesql.SetSearchURLParams{SearchUrl: url}); err != nil {
		release()
		return false, "", nil, fmt.Errorf("claim the search service: %w", err)
	}
	return true, "", release, nil
}

// OwnReceiver claims the one receiver of this database's webhooks, until release is called or the process ends.
func (s *Store) OwnReceiver(ctx context.Context) (owned bool, release func(), err error) {
	return s.own(ctx, receiverService)
}

// own claims a service. The claim goes with its connection.
func (s *Store) own(ctx context.Context, service string) (owned bool, release func(), err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return false, nil, fmt.Errorf("claim the %s service: %w", service, err)
	}
	q := notesql.New(conn)
	if owned, err = q.TryOwn(ctx, notesql.TryOwnParams{Service: service}); err != nil || !owned {
		conn.Release()
		if err != nil {
			err = fmt.Errorf("claim the %s service: %w", service, err)
		}
		return false, nil, err
	}
	return true, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := q.Disown(ctx, notesql.DisownParams{Service: service}); err != nil {
			_ = conn.Conn().Close(ctx) // the lock goes with the connection
		}
		conn.Release()
	}, nil
}

// Now answers the database's clock, by which events are dated.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	now, err := s.q().Now(ctx)
	if err != nil {
		return now, fmt.Errorf("read the database's clock: %w", err)
	}
	return now, nil
}
