package note

import (
	"context"
	"fmt"
	"regexp"

	"github.com/postbus/postbus/examples/notebook/note/notesql"
)

// firstID comes before every id.
const firstID = "00000000-0000-0000-0000-000000000000"

var idForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

func isID(id string) bool { return idForm.MatchString(id) }

// List answers at most n notes, the latest change first, that come after the note named before ("" from the start).
func (s *Store) List(ctx context.Context, owner, before string, n int) ([]Note, error) {
	p := notesql.ListNotesParams{OwnerID: owner, PageSize: int32(n)}
	if isID(before) {
		p.BeforeID = &before
	}
	rows, err := s.q().ListNotes(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list notes: %w", err)
	}
	notes := make([]Note, len(rows))
	for i, row := range rows {
		notes[i] = Note(row)
	}
	return notes, nil
}

// ByIDs answers those of the notes that exist, by id.
func (s *Store) ByIDs(ctx context.Context, owner string, ids []string) (map[string]Note, error) {
	rows, err := s.q().NotesByIDs(ctx, notesql.NotesByIDsParams{OwnerID: owner, Ids: ids})
	if err != nil {
		return nil, fmt.Errorf("read notes: %w", err)
	}
	notes := map[string]Note{}
	for _, row := range rows {
		notes[row.ID] = Note(row)
	}
	return notes, nil
}

// Version is the version of one note.
type Version struct {
	ID      string
	Version int64
}

// Versions calls visit with pages of at most n notes, every owner's, in the order of their ids.
func (s *Store) Versions(ctx context.Context, n int, visit func([]Version) error) error {
	for after := firstID; ; {
		rows, err := s.q().NoteVersions(ctx, notesql.NoteVersionsParams{AfterID: after, PageSize: int32(n)})
		if err != nil {
			return fmt.Errorf("read the notes' versions: %w", err)
		}
		if len(rows) == 0 {
			return nil
		}
		page := make([]Version, len(rows))
		for i, row := range rows {
			page[i] = Version(row)
		}
		if err := visit(page); err != nil {
			return err
		}
		after = page[len(page)-1].ID
	}
}

// Count answers how many notes the owner has.
func (s *Store) Count(ctx context.Context, owner string) (int64, error) {
	n, err := s.q().CountNotes(ctx, notesql.CountNotesParams{OwnerID: owner})
	if err != nil {
		return 0, fmt.Errorf("count notes: %w", err)
	}
	return n, nil
}
