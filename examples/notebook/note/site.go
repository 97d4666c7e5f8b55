package note

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/examples/notebook/note/notesql"
)

// BuildsTable has a row for each event that was built; BuildsChannel tells of an owner's new ones, by the owner.
const (
	BuildsTable   = "notebook.builds"
	BuildsChannel = "notebook_builds"
)

// Build is one build of the site.
type Build struct {
	ID        int64     `json:"id,string"`
	NoteID    string    `json:"note_id"`
	Outcome   string    `json:"outcome"` // built or withdrawn
	Version   int64     `json:"version"`
	BuiltBy   string    `json:"built_by"`
	SettledAt time.Time `json:"settled_at"`
}

// Page is a page of the site.
type Page struct {
	NoteID, Title, HTML string
	Version             int64
}

// PublishPage serves what the build of the version made, or something later.
func (s *Store) PublishPage(ctx context.Context, id string, version int64) error {
	if err := s.q().PublishPage(ctx, notesql.PublishPageParams{NoteID: id, Version: version}); err != nil {
		return fmt.Errorf("publish the page of note %s: %w", id, err)
	}
	return nil
}

// WithdrawPage takes the page of a note that is not published any more.
func (s *Store) WithdrawPage(ctx context.Context, id string) error {
	if err := s.q().WithdrawPage(ctx, notesql.WithdrawPageParams{NoteID: id}); err != nil {
		return fmt.Errorf("withdraw the page of note %s: %w", id, err)
	}
	return nil
}

// KeepAssets notes what the page of a note shows from elsewhere.
func (s *Store) KeepAssets(ctx context.Context, id string) error {
	if err := s.q().KeepAssets(ctx, notesql.KeepAssetsParams{NoteID: id}); err != nil {
		return fmt.Errorf("keep what the page of note %s shows: %w", id, err)
	}
	return nil
}

// Pages lists the pages that are served, by title.
func (s *Store) Pages(ctx context.Context, owner string, most int) ([]Page, error) {
	rows, err := s.q().ListPages(ctx, notesql.ListPagesParams{OwnerID: owner, Most: int32(most)})
	if err != nil {
		return nil, fmt.Errorf("list pages: %w", err)
	}
	pages := make([]Page, len(rows))
	for i, row := range rows {
		pages[i] = Page{NoteID: row.NoteID, Title: row.LiveTitle, Version: row.LiveVersion}
	}
	return pages, nil
}

// Page answers the page of a note, as it is served, and what it shows from elsewhere.
func (s *Store) Page(ctx context.Context, owner, id string) (Page, []string, error) {
	if !isID(id) {
		return Page{}, nil, ErrNotFound
	}
	row, err := s.q().GetPage(ctx, notesql.GetPageParams{OwnerID: owner, NoteID: id})
	if errors.Is(err, pgx.ErrNoRows) {
		return Page{}, nil, ErrNotFound
	}
	if err != nil {
		return Page{}, nil, fmt.Errorf("read the page of note %s: %w", id, err)
	}
	assets, err := s.q().ListAssets(ctx, notesql.ListAssetsParams{OwnerID: owner, NoteID: id})
	if err != nil {
		return Page{}, nil, fmt.Errorf("read what the page of note %s shows: %w", id, err)
	}
	return Page{NoteID: id, Title: row.LiveTitle, HTML: row.LiveHtml, Version: row.LiveVersion}, assets, nil
}

// BuildsAfter lists the owner's builds behind one, the oldest first.
func (s *Store) BuildsAfter(ctx context.Context, owner string, after int64, most int) ([]Build, error) {
	rows, err := s.q().BuildsAfter(ctx, notesql.BuildsAfterParams{OwnerID: owner, After: after, Most: int32(most)})
	if err != nil {
		return nil, fmt.Errorf("list builds: %w", err)
	}
	builds := make([]Build, len(rows))
	for i, row := range rows {
		builds[i] = Build(row)
		builds[i].SettledAt = row.SettledAt.UTC()
	}
	return builds, nil
}
