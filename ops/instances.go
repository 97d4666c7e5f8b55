package ops

import (
	"context"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/opssql"
)

// Instance is one process.
type Instance struct {
	ID        string    `json:"id"`
	App       string    `json:"app"`
	Version   string    `json:"version,omitempty"`
	Host      string    `json:"host,omitempty"`
	Kinds     []string  `json:"kinds" doc:"The kinds of jobs that it runs"`
	StartedAt time.Time `json:"started_at"`
	SeenAt    time.Time `json:"seen_at" doc:"Its latest heartbeat"`
	Alive     bool      `json:"alive" doc:"It was seen within 30 seconds"`
}

func declareInstances(r *Registry) error {
	return add(r, Op[Paging, Listed[Instance]]{
		Name: "instances.list", Summary: "List the processes of the last day", Access: Read, Global: true, Run: listInstances,
	})
}

func listInstances(ctx context.Context, c *Call, in Paging) (Listed[Instance], error) {
	after, err := openCursor("instance", in.Cursor)
	if err != nil {
		return Listed[Instance]{}, err
	}
	rows, err := queries(c.Pool).ListInstances(ctx, opssql.ListInstancesParams{
		AfterID: after, LivingSeconds: livingFor.Seconds(), PageSize: int32(pageSize(in)) + 1,
	})
	if err != nil {
		return Listed[Instance]{}, err
	}
	next := ""
	if size := pageSize(in); len(rows) > size {
		rows = rows[:size]
		next = sealCursor("instance", rows[size-1].ID)
	}
	return listed(rows, next, instanceOf), nil
}

func instanceOf(row opssql.ListInstancesRow) Instance {
	return Instance{
		ID: row.ID, App: row.App, Version: row.Version, Host: row.Host, Kinds: row.Kinds,
		StartedAt: row.StartedAt.UTC(), SeenAt: row.SeenAt.UTC(), Alive: row.Alive,
	}
}
