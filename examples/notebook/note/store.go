package note

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/examples/notebook/note/notesql"
)

// Store keeps the notes.
type Store struct{ pool *pgxpool.Pool }

// NewStore keeps notes through a pool. The tables must be there: see Migrate.
func NewStore(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// Create writes a new note.
func (s *Store) Create(ctx context.Context, owner string, d Draft) (Note, error) {
	d, err := d.Clean()
	if err != nil {
		return Note{}, err
	}
	row, err := s.q().CreateNote(ctx, notesql.CreateNoteParams{OwnerID: owner, Title: d.Title, Body: d.Body})
	return found(Note(row), err, "write the note")
}

// Update replaces a note's text.
func (s *Store) Update(ctx context.Context, owner, id string, d Draft) (Note, error) {
	d, err := d.Clean()
	if err != nil {
		return Note{}, err
	}
	if !isID(id) {
		return Note{}, ErrNotFound
	}
	row, err := s.q().UpdateNote(ctx, notesql.UpdateNoteParams{OwnerID: owner, ID: id, Title: d.Title, Body: d.Body})
	return found(Note(row), err, "write note "+id)
}

// Delete removes a note for good.
func (s *Store) Delete(ctx context.Context, owner, id string) error {
	if !isID(id) {
		return ErrNotFound
	}
	n, err := s.q().DeleteNote(ctx, notesql.DeleteNoteParams{OwnerID: owner, ID: id})
	switch {
	case err != nil:
		return fmt.Errorf("delete note %s: %w", id, err)
	case n == 0:
		return ErrNotFound
	}
	return nil
}

// Get answers a note as it stands now, whoever owns it.
func (s *Store) Get(ctx context.Context, id string) (Note, error) {
	if !isID(id) {
		return Note{}, ErrNotFound
	}
	row, err := s.q().NoteByID(ctx, notesql.NoteByIDParams{ID: id})
	return found(Note(row), err, "read note "+id)
}

// Outcome says what an import did with a file.
type Outcome string

// The outcomes of an import.
const (
	Created   Outcome = "created"
	Changed   Outcome = "changed"
	Unchanged Outcome = "unchanged"
)

// Import keeps a file as a note: one file, one note, one transaction. A file that holds what it held when it was imported
// last changes nothing, even where the note was edited since. A new note is published where publish says so; a changed one
// stays what it was.
func (s *Store) Import(ctx context.Context, owner, path string, d Draft, publish bool) (Outcome, error) {
	d, err := d.Clean()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(d.Title + "\x00" + d.Body))
	row, err := s.q().ImportNote(ctx, notesql.ImportNoteParams{
		OwnerID: owner, Path: path, FileSum: hex.EncodeToString(sum[:]), Title: d.Title, Body: d.Body,
		Publish: publish,
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Unchanged, nil
	case err != nil:
		return "", fmt.Errorf("import %s: %w", path, err)
	case row.Created:
		return Created, nil
	}
	return Changed, nil
}

func (s *Store) q() *notesql.Queries { return notesql.New(s.pool) }

func found(n Note, err error, what string) (Note, error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return Note{}, ErrNotFound
	}
	if err != nil {
		return Note{}, fmt.Errorf("%s: %w", what, err)
	}
	n.UpdatedAt = n.UpdatedAt.UTC()
	return n, nil
}
