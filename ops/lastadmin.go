package ops

import (
	"context"
	"slices"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/opssql"
)

// keepAdminToken refuses to revoke the last one who may do everything.
func (c *Call) keepAdminToken(ctx context.Context, row opssql.GetTokenRow) error {
	over := row.RevokedAt != nil || row.ExpiresAt != nil && !row.ExpiresAt.After(time.Now())
	if over || !slices.Contains(row.Scopes, string(Admin)) {
		return nil
	}
	return c.keepAnAdmin(ctx, row.ID, "token "+row.Prefix)
}

// keepAdminAccount refuses to disable the last one who may do everything.
func (c *Call) keepAdminAccount(ctx context.Context, row opssql.GetAccountRow) error {
	if row.DisabledAt != nil || !slices.Contains(row.Scopes, string(Admin)) {
		return nil
	}
	return c.keepAnAdmin(ctx, row.ID, "account "+row.Name)
}

func (c *Call) keepAnAdmin(ctx context.Context, id, what string) error {
	other, err := c.credentials().AnyOtherAdmin(ctx, opssql.AnyOtherAdminParams{ID: id})
	if err != nil || other {
		return err
	}
	return newError(Conflict, "the %s is the last one with the scope admin: make another token or account with it first", what)
}
