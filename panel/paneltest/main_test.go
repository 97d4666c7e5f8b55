package paneltest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/browser"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/pg"
)

// chromium is one browser for all tests; each test has pages of its own.
var chromium *browser.Browser

func TestMain(m *testing.M) {
	b, err := browser.Start(context.Background())
	if err != nil {
		panic(err) // no browser: the panel was not tested
	}
	chromium = b
	testdb.Run(m, func(ctx context.Context, pool *pgxpool.Pool) error { return pg.Migrate(ctx, pool, river.Migrator()) })
	chromium.Stop()
}
