package ops

import (
	"context"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/internal/dbsqlc/opssql"
	"github.com/postbus/postbus/pg"
)

// statusCap is how far system.status counts.
const statusCap = 2000

// SystemStatus is how the bus stands as a whole.
type SystemStatus struct {
	Version    string       `json:"version" doc:"Of the program that answers"`
	Database   string       `json:"database_version" doc:"Of Postgres"`
	Migrations Migrations   `json:"migrations"`
	Instances  Count        `json:"instances" doc:"Processes that live"`
	Backlog    EventBacklog `json:"backlog" doc:"Events that wait for a relay"`
	Poisoned   Count        `json:"poisoned" doc:"Events that could not be fanned out"`
	Listener   *Hearing     `json:"listener,omitempty" doc:"How the process that answers hears notifications"`
	Tables     []TableSize  `json:"tables"`
}

// Hearing is how a process hears notifications.
type Hearing struct {
	State string    `json:"state" doc:"hearing; deaf: connected, but nothing arrives, as behind a pooler in transaction mode; off: not connected, or not yet proven to hear. Whatever it is, everything works: where nothing is heard by polling, a little later" enum:"hearing,deaf,off"`
	Since time.Time `json:"since"`
}

// Migrations compares the database with the program.
type Migrations struct {
	Applied []Migration `json:"applied"`
	Pending []Migration `json:"pending" doc:"What the program would apply"`
	Unknown []Migration `json:"unknown" doc:"Applied by a newer program"`
}

// Migration is one step of the tables.
type Migration struct {
	Version   int64      `json:"version"`
	Name      string     `json:"name"`
	AppliedAt *time.Time `json:"applied_at,omitempty"`
}

// EventBacklog is what the relay has before it.
type EventBacklog struct {
	Count
	OldestSeconds float64 `json:"oldest_seconds" doc:"For how long the oldest has waited"`
}

// TableSize is what one table takes.
type TableSize struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes" doc:"On disk, with its indexes"`
	Rows  *int64 `json:"rows,omitempty" doc:"About how many; left out where the table was never analyzed"`
}

func declareSystem(r *Registry) error {
	return add(r, Op[None, SystemStatus]{
		Name: "system.status", Summary: "Show versions, migrations, processes, backlog and table sizes", Access: Read, Global: true,
		Run: systemStatus,
	})
}

func systemStatus(ctx context.Context, c *Call, _ None) (SystemStatus, error) {
	status := SystemStatus{Version: c.Version, Tables: []TableSize{}}
	for _, look := range []func(context.Context, pg.DBTX) error{
		status.readMigrations, status.readCounts, status.readTables,
	} {
		if err := look(ctx, c.Pool); err != nil {
			return SystemStatus{}, err
		}
	}
	if c.Listener != nil {
		state := c.Listener()
		status.Listener = &Hearing{State: string(state.Hearing), Since: state.Since.UTC()}
	}
	return status, nil
}

func (s *SystemStatus) readMigrations(ctx context.Context, db pg.DBTX) (err error) {
	if s.Database, err = queries(db).ServerVersion(ctx); err != nil {
		return err
	}
	stands, err := pg.ReadStatus(ctx, db)
	if err != nil {
		return err
	}
	applied := func(m pg.Applied) Migration {
		at := m.AppliedAt.UTC()
		return Migration{Version: m.Version, Name: m.Name, AppliedAt: &at}
	}
	pending := func(m pg.Migration) Migration { return Migration{Version: m.Version, Name: m.Name} }
	s.Migrations = Migrations{
		Applied: listed(stands.Applied, "", applied).Items,
		Pending: listed(stands.Pending, "", pending).Items,
		Unknown: listed(stands.Unknown, "", applied).Items,
	}
	return nil
}

// readCounts counts up to one more than the cap.
func (s *SystemStatus) readCounts(ctx context.Context, db pg.DBTX) error {
	events, ours := eventsql.New(db), queries(db)
	living, err := ours.CountLiving(ctx, opssql.CountLivingParams{LivingSeconds: livingFor.Seconds(), Cap: statusCap + 1})
	if err != nil {
		return err
	}
	backlog, err := events.Backlog(ctx, eventsql.BacklogParams{Cap: statusCap + 1})
	if err != nil {
		return err
	}
	poisoned, err := events.CountPoisoned(ctx, eventsql.CountPoisonedParams{Cap: statusCap + 1})
	if err != nil {
		return err
	}
	s.Instances, s.Poisoned = capped(living), capped(poisoned)
	s.Backlog = EventBacklog{Count: capped(backlog.Events), OldestSeconds: backlog.OldestSeconds}
	return nil
}

func (s *SystemStatus) readTables(ctx context.Context, db pg.DBTX) error {
	rows, err := queries(db).TableSizes(ctx)
	for _, row := range rows {
		size := TableSize{Name: row.Name, Bytes: row.Bytes}
		if row.Rows >= 0 {
			size.Rows = &row.Rows
		}
		s.Tables = append(s.Tables, size)
	}
	return err
}

func capped(n int64) Count { return Count{N: min(n, statusCap), About: n > statusCap} }
