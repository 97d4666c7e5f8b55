package events

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// byDefault fills in what is left out.
func (c Capture) byDefault(ctx context.Context, tx pgx.Tx) (Capture, error) {
	if c.Name == "" {
		c.Name = captureName(c.Table)
	}
	given := c
	given.Owner, given.Subject = orDefault(c.Owner, "?"), orDefault(c.Subject, "?")
	if err := given.check(); err != nil {
		return c, err
	}
	site, err := c.site(ctx, tx)
	if err != nil {
		return c, err
	}
	if strings.TrimSpace(c.Owner) == "" {
		if !slices.Contains(site.columns, "owner_id") {
			return c, fmt.Errorf("%w: it has no column owner_id, so say whose the events are: an expression over one of %s, or one owner for all, such as 'app'",
				ErrInvalid, strings.Join(site.columns, ", "))
		}
		c.Owner = "it.owner_id"
	}
	if strings.TrimSpace(c.Subject) == "" {
		if len(site.key) == 0 {
			return c, fmt.Errorf("%w: it has no primary key, so say what an event's subject is: an expression over one of %s",
				ErrInvalid, strings.Join(site.columns, ", "))
		}
		c.Subject = keySubject(site.key)
	}
	return c, c.check()
}

// captureName makes a name of a table's.
func captureName(table string) string {
	table = strings.TrimPrefix(strings.ToLower(table), "public.")
	return strings.Map(func(r rune) rune {
		if r < 128 && (r == '.' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9') {
			return r
		}
		return '_'
	}, table)
}

func keySubject(key []string) string {
	parts := make([]string, len(key))
	for i, column := range key {
		parts[i] = "it." + pgx.Identifier{column}.Sanitize()
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "pg_catalog.concat_ws('/', " + strings.Join(parts, ", ") + ")"
}
