package bulk

import (
	"context"
	"encoding/base64"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/bulksql"
	"github.com/postbus/postbus/jobs"
)

const (
	defaultPage = 50
	maxPage     = 200
)

// Filter selects acts. Zero fields do not select.
type Filter struct {
	Owner  string // acts on this owner's jobs only
	Verb   Verb
	State  State
	Cursor string // Page.Next of the page before
	Limit  int    // default 50, at most 200
}

// Page is one page of acts, newest first. Next is "" on the last one.
type Page struct {
	Acts []Act
	Next string
}

// List answers a page of acts, newest first.
func (s *Service) List(ctx context.Context, filter Filter) (Page, error) {
	before, id, err := readCursor(filter.Cursor)
	if err != nil {
		return Page{}, err
	}
	limit := min(filter.Limit, maxPage)
	if limit <= 0 {
		limit = defaultPage
	}
	rows, err := queries(s.pool).ListActs(ctx, bulksql.ListActsParams{
		OwnerID: filter.Owner, Act: string(filter.Verb), State: string(filter.State), Before: before, BeforeID: id,
		PageSize: int32(limit) + 1, // one more tells whether there is a next page
	})
	if err != nil {
		return Page{}, fmt.Errorf("list bulk acts: %w", err)
	}
	var page Page
	if len(rows) > limit {
		rows = rows[:limit]
		last := rows[limit-1]
		page.Next = base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "b%d.%s", last.CreatedAt.UnixMicro(), last.ID))
	}
	for _, row := range rows {
		act, err := actOf(row)
		if err != nil {
			return Page{}, err
		}
		page.Acts = append(page.Acts, act)
	}
	return page, nil
}

// readCursor answers the created_at and the id of the row after which a page begins.
func readCursor(cursor string) (*time.Time, string, error) {
	if cursor == "" {
		return nil, "00000000-0000-0000-0000-000000000000", nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if place, ours := strings.CutPrefix(string(raw), "b"); err == nil && ours {
		micros, id, _ := strings.Cut(place, ".")
		n, err := strconv.ParseInt(micros, 10, 64)
		if at := time.UnixMicro(n); err == nil && isUUID(id) && strconv.FormatInt(n, 10) == micros && storable(at) {
			return &at, id, nil
		}
	}
	return nil, "", fmt.Errorf("%w: cursor %q: use Page.Next of the page before, or none", jobs.ErrInvalid, cursor)
}

// storable says whether Postgres has the time.
func storable(at time.Time) bool { return at.Year() > 0 && at.Year() < 10_000 }

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

func isUUID(id string) bool { return uuidForm.MatchString(id) }
