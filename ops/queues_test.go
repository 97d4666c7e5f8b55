package ops

import (
	"testing"

	"github.com/postbus/postbus/jobs"
)

func TestQueuesPause(t *testing.T) {
	t.Parallel()
	r, runtime := fixture(t)
	seedTasks(t, runtime, "ann", 2)
	look := func() Queue {
		t.Helper()
		for _, queue := range answerOf[Listed[Queue]](t, r, operator, "tasks.queues", `{}`).Items {
			if queue.Name == "default" {
				return queue
			}
		}
		t.Fatal("the queue is not listed")
		return Queue{}
	}
	if got := look(); got != (Queue{Name: "default", Workers: 1, Pending: Count{N: 2}}) {
		t.Errorf("%+v", got)
	}
	for _, step := range []struct {
		name   string
		paused bool
	}{{"tasks.pause", true}, {"tasks.pause", true}, {"tasks.resume", false}, {"tasks.resume", false}} {
		answerOf[Done](t, r, operator, step.name, `{"queue":"default"}`)
		if got := look(); got.Paused != step.paused {
			t.Errorf("after %s: %+v", step.name, got)
		}
	}
	first := answerOf[Listed[Queue]](t, r, operator, "tasks.queues", `{"limit":1}`)
	if len(first.Items) != 1 || first.Next == "" {
		t.Errorf("%+v", first)
	}
	for _, name := range []string{"tasks.pause", "tasks.resume"} {
		refused(t, r, operator, name, `{"queue":"no such queue"}`, NotFound)
		refused(t, r, operator, name, `{"queue":""}`, Invalid)
		refused(t, r, boundTo("ann"), name, `{"queue":"default"}`, Forbidden)
	}
}

func TestPeriodics(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	execSQL(t, r, `insert into postbus.periodics (app, name, schedule) values ('app', 'clean', 'every 1m0s'), ('app', 'sum', 'every 1h0m0s')`)
	const clean = `{"app":"app","name":"clean"}`
	run := answerOf[PeriodicRun](t, r, operator, "tasks.run_periodic", clean)
	if task := answerOf[Task](t, r, operator, "tasks.get", `{"id":"`+run.JobID+`"}`); task.State != string(jobs.Pending) {
		t.Errorf("the run by hand: %+v", task)
	}
	for name, paused := range map[string]bool{"tasks.pause_periodic": true, "tasks.resume_periodic": false} {
		answerOf[Done](t, r, operator, name, clean)
		first := answerOf[Listed[Periodic]](t, r, operator, "tasks.periodic", `{"limit":1}`)
		if len(first.Items) != 1 || first.Items[0].Paused != paused || (first.Items[0].Next == nil) != paused || first.Items[0].LastJob != run.JobID {
			t.Errorf("after %s: %+v", name, first)
		}
		rest := answerOf[Listed[Periodic]](t, r, operator, "tasks.periodic", `{"cursor":"`+first.Next+`"}`)
		if len(rest.Items) != 1 || rest.Items[0].Name != "sum" || rest.Next != "" {
			t.Errorf("the second page: %+v", rest)
		}
	}
	for _, name := range []string{"tasks.run_periodic", "tasks.pause_periodic", "tasks.resume_periodic"} {
		refused(t, r, operator, name, `{"app":"app","name":"none"}`, NotFound)
		refused(t, r, operator, name, `{"app":"app"}`, Invalid)
		refused(t, r, boundTo("ann"), name, clean, Forbidden)
	}
}
