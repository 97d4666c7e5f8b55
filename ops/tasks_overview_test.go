package ops

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTaskOverview(t *testing.T) {
	t.Parallel()
	r, runtime := fixture(t)
	ids := seedTasks(t, runtime, "ann", 3)
	discard(t, r, ids[0])
	for _, input := range []string{`{}`, `{"kind":"work"}`} {
		got := answerOf[TaskOverview](t, r, operator, "tasks.overview", input)
		if got.OldestPending == nil {
			t.Errorf("%s: jobs wait and oldest_pending is left out", input)
		}
		got.OldestPending = nil
		want := TaskOverview{
			States:         TaskStates{Pending: Count{N: 2}, Discarded: Count{N: 1}},
			Kinds:          []TaskKindCounts{{Kind: "work", Pending: Count{N: 2}, Discarded: Count{N: 1}}},
			Unacknowledged: Count{N: 1},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", input, diff)
		}
	}
	if got := answerOf[TaskOverview](t, r, operator, "tasks.overview", `{"kind":"' or true --"}`); len(got.Kinds) != 0 || got.States != (TaskStates{}) {
		t.Errorf("a kind that is none: %+v", got)
	}
}

// A kind is listed as soon as a process declares it, and as long as it has jobs.
func TestKindsBeforeTheyRan(t *testing.T) {
	t.Parallel()
	r, runtime := fixture(t)
	seedTasks(t, runtime, "ann", 1)
	execSQL(t, r, `insert into postbus.instances (id, app, kinds, seen_at) values
		('a', 'app', '{new,shared}', now()), ('b', 'app', '{shared}', now()), ('c', 'app', '{old}', now() - interval '1 hour')`)
	want := []TaskKind{
		{TaskKindCounts: TaskKindCounts{Kind: "new"}, Instances: 1}, {TaskKindCounts: TaskKindCounts{Kind: "old"}},
		{TaskKindCounts: TaskKindCounts{Kind: "shared"}, Instances: 2}, {TaskKindCounts: TaskKindCounts{Kind: "work", Pending: Count{N: 1}}},
	}
	first := answerOf[Listed[TaskKind]](t, r, operator, "tasks.kinds", `{"limit":3}`)
	rest := answerOf[Listed[TaskKind]](t, r, operator, "tasks.kinds", `{"limit":3,"cursor":"`+first.Next+`"}`)
	if diff := cmp.Diff(want, append(first.Items, rest.Items...)); diff != "" || rest.Next != "" {
		t.Errorf("next %q (-want +got):\n%s", rest.Next, diff)
	}
	queue := sealCursor("queue", "default")
	for _, cursor := range []string{"x", "====", queue, first.Next + "A"} {
		refused(t, r, operator, "tasks.kinds", `{"cursor":"`+cursor+`"}`, Invalid)
	}
}
