package jobstest

import (
	"fmt"

	"github.com/postbus/postbus/jobs"
)

func (e *env) list(i *instance, filter jobs.Filter) jobs.Page {
	e.Helper()
	page, err := i.Inspector().List(e.ctx, filter)
	e.ok(err, "list jobs")
	return page
}

func (e *env) cancel(i *instance, id jobs.JobID) jobs.Job {
	e.Helper()
	job, err := i.Inspector().Cancel(e.ctx, id)
	e.ok(err, "cancel job "+string(id))
	return job
}

func (e *env) overview(i *instance, kind string) jobs.Overview {
	e.Helper()
	overview, err := i.Inspector().Overview(e.ctx, kind)
	e.ok(err, "overview")
	return overview
}

func attemptText(attempt int, text string) string {
	return fmt.Sprintf("attempt %d: %s", attempt, text)
}
