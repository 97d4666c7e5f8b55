package ops

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// EventRecord is an event that is to be recorded.
type EventRecord struct {
	ID      string `json:"id,omitempty" doc:"A UUID of your choice: the same content under it is recorded once; made here when left out" maxLength:"36"`
	Type    string `json:"type" doc:"A declared type" minLength:"1" maxLength:"120"`
	OwnerID string `json:"owner_id,omitempty" doc:"Whose event it is; left out by a caller who is bound to an owner"`
	Subject string `json:"subject" doc:"What it is about, for instance a note's id" minLength:"1"`
	Data    object `json:"data,omitempty" doc:"A JSON object, kept byte for byte; {} when left out"`
}

// Recorded is what recording answers.
type Recorded struct {
	ID    string `json:"id"`
	Fresh bool   `json:"fresh" doc:"false: an event with this id and content stands already"`

	owner string
}

// AuditOwner makes the recording a line of the event's owner's.
func (r Recorded) AuditOwner() string { return r.owner }

func recordEvent(ctx context.Context, c *Call, in EventRecord) (Recorded, error) {
	owner, err := c.OwnerOr(in.OwnerID)
	if err != nil {
		return Recorded{}, err
	}
	if owner == "" {
		return Recorded{}, fieldError("owner_id", "it is needed: say whose event it is")
	}
	var data any
	if in.Data != nil {
		data = json.RawMessage(in.Data)
	}
	id, fresh, err := c.Events.RecordAs(ctx, c.Tx, in.ID, owner, in.Type, in.Subject, data)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && Explain(err).Code == Invalid {
		return Recorded{}, fieldError("data", "the database cannot store it: "+refused.Message)
	}
	return Recorded{ID: id, Fresh: fresh, owner: owner}, err
}
