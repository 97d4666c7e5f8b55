package ops

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/dbsqlc/opssql"
	"github.com/postbus/postbus/pg"
)

// Bootstrap makes the first token, for admin and all owners, on a database where there was never a token and is no account, and
// answers it; everywhere else it answers "". Of processes that boot at once one makes it. It is not kept and cannot be shown again;
// whoever misses it makes another at the command line with the database's address.
func Bootstrap(ctx context.Context, pool *pgxpool.Pool) (token string, err error) {
	err = pg.InTx(ctx, pool, func(ctx context.Context, tx pgx.Tx) error {
		q := queries(tx)
		if err := q.LockBootstrap(ctx); err != nil {
			return err
		}
		// A statement of its own: it sees what the process that had the lock before has committed.
		if exists, err := q.AnyCredential(ctx); err != nil || exists {
			return err
		}
		spec := TokenSpec{Name: "first boot", Scopes: []Access{Admin}}
		minted, err := mint(ctx, q, spec, "bootstrap")
		if err != nil {
			return err
		}
		token = minted.Secret
		input, err := json.Marshal(spec)
		if err != nil {
			return err
		}
		return q.InsertAudit(ctx, opssql.InsertAuditParams{
			Who: "bootstrap", Face: string(CLI), Operation: "tokens.create", Input: input, Result: "ok",
		})
	})
	if err != nil {
		return "", fmt.Errorf("ops: make the first token: %w", err)
	}
	return token, nil
}
