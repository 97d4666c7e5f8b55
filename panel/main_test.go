package panel_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/pg"
)

func TestMain(m *testing.M) {
	testdb.Run(m, func(ctx context.Context, pool *pgxpool.Pool) error { return pg.Migrate(ctx, pool, river.Migrator()) })
}
