package ops

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/opssql"
	"github.com/postbus/postbus/jobs"
)

// livingFor is the silence after which a process counts as gone, as in the alert of orphaned kinds.
const livingFor = 30 * time.Second

// Count is a number of things.
type Count struct {
	N     int64 `json:"n"`
	About bool  `json:"about,omitempty" doc:"It is an estimate, or counting stopped at a cap"`
}

// TaskOverview is the queue at a glance.
type TaskOverview struct {
	States         TaskStates       `json:"states"`
	Kinds          []TaskKindCounts `json:"kinds" doc:"Kinds that have unfinished or discarded jobs"`
	OldestPending  *time.Time       `json:"oldest_pending,omitempty" doc:"When the longest-waiting job that may run could first have run"`
	Unacknowledged Count            `json:"unacknowledged" doc:"Discarded jobs that nobody has retried, cancelled or acknowledged"`
}

// TaskStates counts jobs per state.
type TaskStates struct {
	Pending   Count `json:"pending"`
	Running   Count `json:"running"`
	Retryable Count `json:"retryable"`
	Completed Count `json:"completed"`
	Discarded Count `json:"discarded"`
	Cancelled Count `json:"cancelled"`
}

// TaskKindCounts are one kind's jobs that need a worker or an operator.
type TaskKindCounts struct {
	Kind      string `json:"kind"`
	Pending   Count  `json:"pending"`
	Running   Count  `json:"running"`
	Retryable Count  `json:"retryable"`
	Discarded Count  `json:"discarded"`
}

// TaskKind is a kind that a process has declared or that has jobs.
type TaskKind struct {
	TaskKindCounts
	Instances int64 `json:"instances" doc:"How many living processes run the kind, or workers claimed it in the last five minutes"`
}

// OverviewOf is the input of tasks.overview.
type OverviewOf struct {
	Kind string `json:"kind,omitempty" doc:"Only this kind" maxLength:"200"`
}

func declareTaskOverview(r *Registry) error {
	return firstError(
		add(r, Op[OverviewOf, TaskOverview]{
			Name: "tasks.overview", Summary: "Count jobs per state and kind; finished ones may be estimates", Access: Read, Global: true,
			Run: func(ctx context.Context, c *Call, in OverviewOf) (TaskOverview, error) {
				overview, err := c.tasks().Overview(ctx, in.Kind)
				if err != nil {
					return TaskOverview{}, err
				}
				return overviewOf(overview), nil
			},
		}),
		add(r, Op[Paging, Listed[TaskKind]]{
			Name: "tasks.kinds", Summary: "List the kinds of jobs that processes declare or that have jobs", Access: Read, Global: true,
			Run: listKinds,
		}),
	)
}

func overviewOf(o jobs.Overview) TaskOverview {
	state := func(s jobs.State) Count { return countOf(o.States[s]) }
	out := TaskOverview{
		States: TaskStates{
			Pending: state(jobs.Pending), Running: state(jobs.Running), Retryable: state(jobs.Retryable),
			Completed: state(jobs.Completed), Discarded: state(jobs.Discarded), Cancelled: state(jobs.Cancelled),
		},
		OldestPending: o.OldestPending, Unacknowledged: countOf(o.Unacked),
	}
	out.Kinds = []TaskKindCounts{}
	for _, kind := range slices.Sorted(maps.Keys(o.Kinds)) {
		out.Kinds = append(out.Kinds, kindCountsOf(kind, o.Kinds[kind]))
	}
	return out
}

func listKinds(ctx context.Context, c *Call, in Paging) (Listed[TaskKind], error) {
	overview, err := c.tasks().Overview(ctx, "")
	if err != nil {
		return Listed[TaskKind]{}, err
	}
	declared, err := queries(c.Pool).DeclaredKinds(ctx, opssql.DeclaredKindsParams{LivingSeconds: livingFor.Seconds()})
	if err != nil {
		return Listed[TaskKind]{}, err
	}
	var kinds []TaskKind
	for _, row := range declared {
		kinds = append(kinds, TaskKind{TaskKindCounts: kindCountsOf(row.Kind, overview.Kinds[row.Kind]), Instances: row.Instances})
		delete(overview.Kinds, row.Kind)
	}
	for kind, counts := range overview.Kinds {
		kinds = append(kinds, TaskKind{TaskKindCounts: kindCountsOf(kind, counts)})
	}
	return cut(kinds, "kind", in, func(k TaskKind) string { return k.Kind })
}

func kindCountsOf(kind string, c jobs.KindCounts) TaskKindCounts {
	return TaskKindCounts{
		Kind: kind, Pending: countOf(c.Pending), Running: countOf(c.Running), Retryable: countOf(c.Retryable), Discarded: countOf(c.Discarded),
	}
}

func countOf(c jobs.Count) Count { return Count{N: c.N, About: c.About} }
