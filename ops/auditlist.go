package ops

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/opssql"
	"github.com/postbus/postbus/pg"
)

// auditOverlap is how far ids and times of lines may disagree: both are drawn by one statement that writes one line.
const auditOverlap = time.Minute

// AuditLine is one act on record.
type AuditLine struct {
	ID        string          `json:"id"`
	At        time.Time       `json:"at"`
	Who       string          `json:"who"`
	Face      string          `json:"face"`
	Operation string          `json:"operation"`
	OwnerID   string          `json:"owner_id,omitempty" doc:"Whose thing it was; left out where it was about all owners"`
	Input     json.RawMessage `json:"input" doc:"Without secrets"`
	Result    string          `json:"result" doc:"ok, or the code of the error"`
	Detail    string          `json:"detail,omitempty" doc:"What the caller was told of the error" maxLength:"1048576"`
}

// AuditFilter is the input of audit.list.
type AuditFilter struct {
	OwnerID   string `json:"owner_id,omitempty" doc:"Only acts on this owner's things"`
	Who       string `json:"who,omitempty" doc:"Only acts of this caller, for instance account:ann"`
	Operation string `json:"operation,omitempty" doc:"Only this operation" maxLength:"40"`
	Window
	Paging
}

func declareAudit(r *Registry) error {
	return add(r, Op[AuditFilter, Listed[AuditLine]]{
		Name: "audit.list", Summary: "List the acts on record, newest first", Access: Read, Run: listAudit,
	})
}

func listAudit(ctx context.Context, c *Call, in AuditFilter) (Listed[AuditLine], error) {
	params, err := in.params(ctx, c)
	if err != nil {
		return Listed[AuditLine]{}, err
	}
	rows, err := queries(pg.Planned{DBTX: c.Pool}).ListAudit(ctx, params)
	if err != nil {
		return Listed[AuditLine]{}, err
	}
	next := ""
	if size := pageSize(in.Paging); len(rows) > size {
		rows = rows[:size]
		next = sealCursor("audit", strconv.FormatInt(rows[size-1].ID, 10))
	}
	return listed(rows, next, auditLineOf), nil
}

// params narrows the ids to those that the times leave: lines are found by id, and a time alone would be looked for in all.
func (f AuditFilter) params(ctx context.Context, c *Call) (params opssql.ListAuditParams, err error) {
	params = opssql.ListAuditParams{
		Who: f.Who, Operation: f.Operation, Since: f.Since, Until: f.Until, PageSize: int32(pageSize(f.Paging)) + 1,
	}
	if params.OwnerID, err = c.OwnerOr(f.OwnerID); err != nil {
		return params, err
	}
	if params.Before, err = auditBefore(f.Cursor); err != nil {
		return params, err
	}
	q := queries(c.Pool)
	if f.Since != nil {
		params.FromID, err = q.FindAuditIDAt(ctx, opssql.FindAuditIDAtParams{WrittenAt: f.Since.Add(-auditOverlap)})
		if err != nil {
			return params, err
		}
	}
	if f.Until != nil {
		id, err := q.FindAuditIDAt(ctx, opssql.FindAuditIDAtParams{WrittenAt: f.Until.Add(auditOverlap)})
		if err != nil {
			return params, err
		}
		if params.Before == 0 || id < params.Before {
			params.Before = max(id, 1)
		}
	}
	return params, nil
}

func auditBefore(cursor string) (int64, error) {
	key, err := openCursor("audit", cursor)
	if err != nil || key == "" {
		return 0, err
	}
	id, err := strconv.ParseInt(key, 10, 64)
	if err != nil || id < 1 || strconv.FormatInt(id, 10) != key {
		return 0, badCursor()
	}
	return id, nil
}

func auditLineOf(row opssql.PostbusAudit) AuditLine {
	return AuditLine{
		ID: strconv.FormatInt(row.ID, 10), At: row.At.UTC(), Who: row.Who, Face: row.Face, Operation: row.Operation,
		OwnerID: row.OwnerID, Input: row.Input, Result: row.Result, Detail: row.Detail,
	}
}
