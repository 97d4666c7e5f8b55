package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/examples/notebook/building"
	"github.com/postbus/postbus/examples/notebook/indexing"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
)

// houses are the kinds that every bus has: their own test holds them.
var houses = []string{"webhook.", "mail.", "owner.", "bulk.", "postbus.", "events."}

// driven is a notebook of which every kind has had something to do.
type driven struct {
	pool       *pgxpool.Pool
	base, data string
	id         string
}

func drive(t *testing.T) *driven {
	t.Helper()
	needsNode(t)
	database := testdb.EmptyURL(t)
	d := &driven{data: t.TempDir()}
	var p *process
	p, d.base = demoPages(t, "--database-url", database, "--data", d.data, "--builder")
	p.said(t, builderLine+"ready")
	var err error
	if d.pool, err = pgxpool.New(t.Context(), database); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.pool.Close)
	d.id = write(t, d.base, "Harvest", "cut the *barley*\n\n![a field](https://pictures.example/field.png)").Note.ID
	call(t, http.MethodPost, d.base+"/notes/"+d.id+"/publish", nil)
	call(t, http.MethodPost, d.base+"/notes/"+d.id+"/mail", map[string]string{"to": "ann@example.com"})
	pageHas(t, d.base, d.id, "<em>barley</em>")
	d.idle(t)
	return d
}

func (d *driven) rows(t *testing.T, sql string, args ...any) []string {
	t.Helper()
	rows, err := d.pool.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// idle waits until nothing is left to do.
func (d *driven) idle(t *testing.T) {
	t.Helper()
	wait.Eventually(t, patience, func() (bool, string) {
		left := d.rows(t, `select 'job of ' || kind || ', ' || state from postbus.river_job
			where state in ('available', 'running', 'retryable', 'scheduled', 'pending') and kind not like 'periodic.%' and kind <> 'webhook.deliver'
			union all select 'event ' || type from postbus.events where fanned_out_at is null and poisoned_at is null
			union all select 'delivery ' || id from postbus.webhook_deliveries where state = 'pending'`)
		return len(left) == 0, fmt.Sprint("still to be done: ", left)
	})
}

// effect is what has come of it all, wherever it can be seen.
func (d *driven) effect(t *testing.T) map[string][]string {
	t.Helper()
	mails, err := filepath.Glob(filepath.Join(d.data, "mailbox", "*.eml"))
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]string{
		"found":      found(t, d.base, "barley"),
		"pages":      d.rows(t, `select concat_ws('|', note_id, version, live_version, live_title, live_html) from notebook.site_pages order by 1`),
		"assets":     d.rows(t, `select concat_ws('|', note_id, url) from notebook.site_assets order by 1`),
		"builds":     d.rows(t, `select concat_ws('|', event_id, outcome, version) from notebook.builds order by 1`),
		"deliveries": d.rows(t, `select concat_ws('|', event_id, state) from postbus.webhook_deliveries order by 1`),
		"events":     d.rows(t, `select id::text from postbus.events where type <> 'postbus.enqueue' order by 1`),
		"mails":      mails,
	}
}

// Promise: whatever the notebook declares, a subscription or a kind, in Go or for a worker elsewhere, has one effect when it is delivered
// twice. A kind that has had nothing to do fails: give it something in drive, and its effect a place in effect.
func TestEveryKindOfTheNotebookIsIdempotent(t *testing.T) {
	t.Parallel()
	d := drive(t)
	kinds := d.rows(t, `select name from postbus.kinds order by name`)
	for _, kind := range []string{indexing.Index, indexing.Reconcile, building.Build, building.Publish, building.Assets} {
		if !slices.Contains(kinds, kind) {
			t.Errorf("%s is not looked at", kind)
		}
	}
	for _, kind := range kinds {
		if slices.ContainsFunc(houses, func(prefix string) bool { return strings.HasPrefix(kind, prefix) }) {
			continue
		}
		args := d.rows(t, `select args::text from postbus.river_job where kind = $1 and state = 'completed'`, kind)
		if len(args) == 0 {
			t.Errorf("nobody says how to drive %s", kind)
		}
		before := d.effect(t)
		for _, one := range args {
			if _, err := d.pool.Exec(context.Background(), `select postbus.enqueue($1, $2)`, kind, one); err != nil {
				t.Fatal(err)
			}
		}
		d.idle(t)
		if n := len(d.rows(t, `select id::text from postbus.river_job where kind = $1 and state = 'completed'`, kind)); n != 2*len(args) {
			t.Errorf("%d jobs of %s have completed, want each twice: %d", n, kind, 2*len(args))
		}
		if diff := cmp.Diff(before, d.effect(t)); diff != "" {
			t.Errorf("%s is not idempotent (-delivered once +delivered twice):\n%s", kind, diff)
		}
	}
}
