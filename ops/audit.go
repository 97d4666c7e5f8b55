package ops

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/postbus/postbus/internal/dbsqlc/opssql"
	"github.com/postbus/postbus/pg"
)

func queries(db pg.DBTX) *opssql.Queries { return opssql.New(db) }

// Owned is an output or input that is about one owner's thing; the audit line is that owner's then.
type Owned interface{ AuditOwner() string }

// target is whose things a call has reached, so that the line of an act that failed is that owner's.
type target struct {
	owner string
	mixed bool // of several owners
}

func (t *target) is(owner string) {
	switch {
	case t == nil || t.mixed || owner == t.owner:
	case t.owner == "":
		t.owner = owner
	default:
		t.owner, t.mixed = "", true
	}
}

// AuditOwner is "" where the call got to nothing, or to things of several owners.
func (t *target) AuditOwner() string { return t.owner }

// secretFields are never written to the audit log, wherever in the input they stand.
var secretFields = map[string]bool{"secret": true, "password": true, "token": true, "headers": true, "data": true}

// audit writes the line of an act. failed is nil where it succeeded.
func audit(ctx context.Context, db pg.DBTX, o *Operation, req Request, out any, failed *Error) error {
	line := opssql.InsertAuditParams{
		Who: req.Who.Name, Face: string(req.Face), Operation: o.Name, OwnerID: req.Who.Owner, Input: masked(req.Input), Result: "ok",
	}
	if owned, ok := out.(Owned); ok && line.OwnerID == "" {
		line.OwnerID = owned.AuditOwner()
	}
	if failed != nil {
		line.Result, line.Detail = string(failed.Code), failed.Error()
	}
	if err := queries(db).InsertAudit(ctx, line); err != nil {
		return fmt.Errorf("write the audit line of %s: %w", o.Name, err)
	}
	return nil
}

// masked takes secrets out of an input. It was checked before: it is a JSON object.
func masked(raw json.RawMessage) json.RawMessage {
	value, err := parse(raw)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	out, err := json.Marshal(mask(value))
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return out
}

func mask(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			if secretFields[key] {
				v[key] = "(left out)"
			} else {
				v[key] = mask(item)
			}
		}
	case []any:
		for i, item := range v {
			v[i] = mask(item)
		}
	}
	return value
}
