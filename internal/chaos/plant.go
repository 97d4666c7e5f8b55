package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Plant is a fault in the product: texts of its source that are replaced when the processes are built. The source itself stays.
type Plant struct {
	Name string
	// What is wrong with the product then, and By which comparison it shows.
	What, By string
	edits    []edit
}

// edit replaces a text, which must stand in the file exactly so often.
type edit struct {
	file, old, new string
	times          int
}

const (
	passFile  = "events/pass.go"
	eventsSQL = "internal/dbsqlc/eventsql/events.sql.go"
)

// Plants are the faults that the checker has to find.
func Plants() []Plant {
	return []Plant{
		{
			Name: "cursor", What: "the relay reads behind the last event that it fanned out, in place of all unmarked ones",
			By: "events that nobody fanned out",
			edits: []edit{{eventsSQL, "    fanned_out_at is null\n    and poisoned_at is null\n    and seq >= $1",
				"    seq > coalesce((select max(f.seq) from postbus.events as f where f.fanned_out_at is not null), 0)\n    and fanned_out_at is null\n    and poisoned_at is null\n    and seq >= $1", 1}},
		},
		{
			Name: "mark", What: "events are marked in a transaction of their own, before their jobs are made",
			By: "events that got no job for a subscriber",
			edits: []edit{
				{passFile, "claimed, err := queries(tx).ClaimEvents(", "claimed, err := queries(r.pool).ClaimEvents(", 1},
				{eventsSQL, "from postbus.events\nwhere\n    fanned_out_at is null\n    and poisoned_at is null\n    and seq >= $1\n    and (next_attempt_at is null or next_attempt_at <= clock_timestamp())\norder by seq\nlimit $2\nfor update skip locked",
					"from claimed order by seq", 1},
				{eventsSQL, "const claimEvents = `-- name: ClaimEvents :many\n", "const claimEvents = `-- name: ClaimEvents :many\n" +
					"with due as (select e.id from postbus.events as e where e.fanned_out_at is null and e.poisoned_at is null and e.seq >= $1\n" +
					"    and (e.next_attempt_at is null or e.next_attempt_at <= clock_timestamp()) order by e.seq limit $2 for update skip locked),\n" +
					"claimed as (update postbus.events as e set fanned_out_at = clock_timestamp() from due where e.id = due.id returning e.*)\n", 1},
				{eventsSQL, "    and e.fanned_out_at is null\n    and e.poisoned_at is null\n`", "`", 1},
			},
		},
		{
			Name: "rescue", What: "nobody gives back the jobs of dead processes",
			By:    "jobs that are not completed",
			edits: []edit{{"jobs/river/reap.go", "r.promote(ctx), r.overdue(ctx), r.lost(ctx), r.leases(ctx)", "r.promote(ctx), r.leases(ctx)", 1}},
		},
		{
			Name: "drop", What: "a webhook that was answered with 500 counts as delivered",
			By: "webhooks that the receiver never took",
			edits: []edit{{"webhooks/outcome.go", "case r.Err == nil && r.Status >= 200 && r.Status < 300:",
				"case r.Err == nil && (r.Status >= 200 && r.Status < 300 || r.Status == 500):", 1}},
		},
		{
			Name: "unlock", What: "the claim's lock ends with its statement, before the jobs and the mark are committed",
			By:    "(event, subscriber) with more than one job",
			edits: []edit{{passFile, "claimed, err := queries(tx).ClaimEvents(", "claimed, err := queries(r.pool).ClaimEvents(", 1}},
		},
	}
}

// plantNamed finds one.
func plantNamed(name string) (Plant, error) {
	all := Plants()
	if i := slices.IndexFunc(all, func(p Plant) bool { return p.Name == name }); i >= 0 {
		return all[i], nil
	}
	var known []string
	for _, p := range all {
		known = append(known, p.Name)
	}
	return Plant{}, fmt.Errorf("no plant is named %q; there are %s", name, strings.Join(known, ", "))
}

// overlay writes the changed files below dir, and the file for go build -overlay, whose name it answers. A text that is not in the
// source any more is an error: the plant has to follow the product.
func (p Plant) overlay(root, dir string) (string, error) {
	changed := map[string]string{}
	for _, e := range p.edits {
		path := filepath.Join(root, e.file)
		source, ok := changed[path]
		if !ok {
			raw, err := os.ReadFile(path)
			if err != nil {
				return "", fmt.Errorf("plant %s: %w", p.Name, err)
			}
			source = string(raw)
		}
		if n := strings.Count(source, e.old); n != e.times {
			return "", fmt.Errorf("plant %s: %s has %d times, and not %d, the text that it replaces: %q", p.Name, e.file, n, e.times, e.old)
		}
		changed[path] = strings.ReplaceAll(source, e.old, e.new)
	}
	return writeOverlay(dir, changed)
}

func writeOverlay(dir string, changed map[string]string) (string, error) {
	replace := map[string]string{}
	for path, source := range changed {
		copied := filepath.Join(dir, fmt.Sprintf("%d-%s", len(replace), filepath.Base(path)))
		if err := os.WriteFile(copied, []byte(source), 0o644); err != nil {
			return "", err
		}
		replace[path] = copied
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, raw, 0o644)
}

// goBuild builds packages of the module with files replaced.
func goBuild(ctx context.Context, root, overlay string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-overlay", overlay}, args...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build -overlay: %w\n%s", err, out)
	}
	return nil
}

// moduleRoot is the folder of the module in which this runs.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}
