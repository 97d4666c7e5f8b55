package ops

import (
	"errors"
	"regexp"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/opssql"
)

// What tokens and accounts share: scopes, an owner, ids and pages.

const defaultPage = 50

var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

func (c *Call) credentials() *opssql.Queries {
	if c.Tx != nil {
		return queries(c.Tx)
	}
	return queries(c.Pool)
}

// granted answers scopes as they are kept: each once, sorted. Admin operations are about all owners, so that admin and an owner
// do not go together.
func granted(scopes []Access, owner string) ([]string, error) {
	if owner != "" && slices.Contains(scopes, Admin) {
		return nil, fault("scopes", "admin is about all owners and this is for owner %q: leave admin or owner_id out", owner)
	}
	kept := make([]string, 0, len(scopes))
	for _, scope := range scopes {
		kept = append(kept, string(scope))
	}
	slices.Sort(kept)
	return slices.Compact(kept), nil
}

func scopesOf(kept []string) []Access {
	scopes := make([]Access, 0, len(kept))
	for _, scope := range kept {
		scopes = append(scopes, Access(scope))
	}
	return scopes
}

// fault is input that the schema lets through and that still cannot be meant.
func fault(field, format string, args ...any) error {
	return &Error{
		Code: Invalid, Message: "the input does not fit", Fields: []FieldError{{Field: field, Message: newError(Invalid, format, args...).Message}},
	}
}

// isCredential refuses ids that Postgres could not read: they are nobody's.
func isCredential(what, id string) error {
	if !uuidForm.MatchString(id) {
		return newError(NotFound, "%s", missing(what, id))
	}
	return nil
}

// noCredential says which one is missing where that is why there is no row.
func noCredential(err error, what, id string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return newError(NotFound, "%s", missing(what, id))
	}
	return err
}

func pageSize(p Paging) int {
	if p.Limit == 0 {
		return defaultPage
	}
	return p.Limit
}
