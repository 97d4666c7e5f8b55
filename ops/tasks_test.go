package ops

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/river"
)

// answerOf is the output of a call that must succeed, with an answer that its schema describes.
func answerOf[T any](t testing.TB, r *Registry, who Identity, name, input string) T {
	t.Helper()
	answer, told := do(t, r, who, name, input)
	if told != nil {
		t.Fatalf("%s %s: %v", name, input, told)
	}
	out, ok := answer.Output.(T)
	if !ok {
		t.Fatalf("%s answers %T", name, answer.Output)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	if o, _ := r.Get(name); check(o.Output, raw) != nil {
		t.Errorf("%s answers what its schema does not describe: %v", name, check(o.Output, raw))
	}
	return out
}

// carryOut calls a destructive operation twice: for the dry run, and with its token.
func carryOut[T any](t testing.TB, r *Registry, who Identity, name, input string) (DryRun, T) {
	t.Helper()
	answer, told := do(t, r, who, name, input)
	if told != nil || answer.DryRun == nil {
		t.Fatalf("dry run of %s %s: %+v, %v", name, input, answer, told)
	}
	done, err := r.Do(t.Context(), Request{Operation: name, Who: who, Face: CLI, Input: json.RawMessage(input), Confirm: answer.DryRun.Confirm})
	if err != nil {
		t.Fatalf("%s %s: %v", name, input, err)
	}
	return *answer.DryRun, done.Output.(T)
}

func refused(t testing.TB, r *Registry, who Identity, name, input string, want Code) *Error {
	t.Helper()
	answer, told := do(t, r, who, name, input)
	if told == nil || told.Code != want {
		t.Fatalf("%s %s: %+v, %v; want %s", name, input, answer, told, want)
	}
	return told
}

func boundTo(owner string) Identity {
	return Identity{Name: "token:" + owner, Scopes: []Access{Act}, Owner: owner}
}

// seedTasks makes jobs whose args are {"n": 0}, {"n": 1} …, and answers their ids.
func seedTasks(t testing.TB, runtime *river.Runtime, owner string, n int) []string {
	t.Helper()
	ids := make([]string, n)
	for i := range ids {
		id, err := runtime.Enqueue(t.Context(), "work", map[string]int{"n": i}, jobs.EnqueueOpts{Owner: owner})
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = string(id)
	}
	return ids
}

func execSQL(t testing.TB, r *Registry, sql string, args ...any) {
	t.Helper()
	if _, err := r.deps.Pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func discard(t testing.TB, r *Registry, ids ...string) {
	t.Helper()
	execSQL(t, r, `update postbus.river_job set state = 'discarded', finalized_at = now() where id = any($1::text[]::bigint[])`, ids)
}

func taskIDs(page Listed[Task]) []string {
	ids := []string{}
	for _, task := range page.Items {
		ids = append(ids, task.ID)
	}
	return ids
}

// Every page is full but the last; what a list answers as next leads on, anything else is refused.
func TestTaskListPages(t *testing.T) {
	t.Parallel()
	r, runtime := fixture(t)
	ids := seedTasks(t, runtime, "ann", 5)
	slices.Reverse(ids)
	var got []string
	cursor, pages := "", 0
	for {
		page := answerOf[Listed[Task]](t, r, operator, "tasks.list", fmt.Sprintf(`{"limit":2,"cursor":%q}`, cursor))
		got = append(got, taskIDs(page)...)
		if cursor, pages = page.Next, pages+1; cursor == "" {
			break
		}
	}
	if diff := cmp.Diff(ids, got); diff != "" || pages != 3 {
		t.Errorf("%d pages (-want +got):\n%s", pages, diff)
	}
	for _, cursor := range []string{"x", "j0", "j-1", "j01", "j99999999999999999999", "ajE", "j1 or true"} {
		refused(t, r, operator, "tasks.list", fmt.Sprintf(`{"cursor":%q}`, cursor), Invalid)
	}
	refused(t, r, operator, "tasks.list", `{"limit":201}`, Invalid)
}

func TestTaskListFilters(t *testing.T) {
	t.Parallel()
	r, runtime := fixture(t)
	ids := seedTasks(t, runtime, "ann", 3)
	bobs := seedTasks(t, runtime, "bob", 1)
	discard(t, r, ids[1], ids[2])
	answerOf[Task](t, r, operator, "tasks.acknowledge", `{"id":"`+ids[2]+`"}`)
	for input, want := range map[string][]string{
		`{"ids":["` + ids[0] + `","none"]}`:        {ids[0]},
		`{"kinds":["work"],"owner_id":"bob"}`:      {bobs[0]},
		`{"kinds":["other"]}`:                      {},
		`{"queues":["default"],"args":{"n":2}}`:    {ids[2]},
		`{"states":["discarded"]}`:                 {ids[2], ids[1]},
		`{"states":["pending"]}`:                   {bobs[0], ids[0]},
		`{"unacknowledged":true}`:                  {ids[1]},
		`{"since":"2999-01-01T00:00:00Z"}`:         {},
		`{"until":"0000-01-01T00:00:00Z"}`:         {},
		`{"owner_id":"' or 1=1 --"}`:               {},
		`{"args":{"n":90071992547409931234567}}`:   {},
		`{"ids":["1); drop table postbus.audit"]}`: {},
	} {
		if diff := cmp.Diff(want, taskIDs(answerOf[Listed[Task]](t, r, operator, "tasks.list", input))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", input, diff)
		}
	}
	for _, input := range []string{`{"states":["lost"]}`, `{"args":[1]}`, `{"args":{"n":1e99999}}`, `{"since":"now"}`, `{"owner_id":"a\u0000"}`} {
		refused(t, r, operator, "tasks.list", input, Invalid)
	}
}

// Another owner's job is not found, in the words for one that is not there; no filter reaches it.
func TestTasksKeepToTheOwner(t *testing.T) {
	t.Parallel()
	r, runtime := fixture(t)
	anns, bobs := seedTasks(t, runtime, "ann", 2), seedTasks(t, runtime, "bob", 1)
	discard(t, r, anns[0])
	bob := boundTo("bob")
	for _, input := range []string{`{}`, `{"owner_id":"bob"}`, `{"ids":["` + anns[0] + `","` + bobs[0] + `"]}`} {
		if got := taskIDs(answerOf[Listed[Task]](t, r, bob, "tasks.list", input)); !slices.Equal(got, bobs) {
			t.Errorf("%s lists %v, want %v", input, got, bobs)
		}
	}
	refused(t, r, bob, "tasks.list", `{"owner_id":"ann"}`, Forbidden)
	for _, name := range []string{"tasks.get", "tasks.retry", "tasks.cancel", "tasks.acknowledge"} {
		theirs := refused(t, r, bob, name, `{"id":"`+anns[0]+`"}`, NotFound)
		nobodys := refused(t, r, bob, name, `{"id":"999999"}`, NotFound)
		if strings.ReplaceAll(theirs.Message, anns[0], "999999") != nobodys.Message {
			t.Errorf("%s tells another's job %q from none %q", name, theirs, nobodys)
		}
	}
	for _, name := range []string{"tasks.retry_many", "tasks.cancel_many"} {
		refused(t, r, bob, name, `{"owner_id":"ann"}`, Forbidden)
		if dry, changed := carryOut[Changed](t, r, bob, name, `{"ids":["`+anns[0]+`","`+anns[1]+`"]}`); dry.Count != 0 || changed.Changed != 0 {
			t.Errorf("%s touches another's jobs: %+v, %+v", name, dry, changed)
		}
	}
	for _, name := range []string{"tasks.overview", "tasks.kinds", "tasks.queues", "tasks.periodic", "alerts.list", "instances.list", "system.status"} {
		refused(t, r, bob, name, `{}`, Forbidden)
	}
}

// The error of every attempt is answered, however long it was kept.
func TestTaskErrors(t *testing.T) {
	t.Parallel()
	r, runtime := fixture(t)
	id := seedTasks(t, runtime, "ann", 1)[0]
	discard(t, r, id)
	execSQL(t, r, `update postbus.river_job set errors = array[jsonb_build_object('at', now(), 'attempt', 1,
		'error', repeat('e', 16384), 'trace', repeat('t', 32768))] where id = $1::text::bigint`, id)
	task := answerOf[Task](t, r, operator, "tasks.get", `{"id":"`+id+`"}`)
	if len(task.Errors) != 1 || len(task.Errors[0].Error) != 16384 || len(task.Errors[0].Stack) != 32768 {
		t.Errorf("%d errors", len(task.Errors))
	}
}

func TestCancelTask(t *testing.T) {
	t.Parallel()
	r, runtime := fixture(t)
	input := `{"id":"` + seedTasks(t, runtime, "ann", 1)[0] + `"}`
	dry, task := carryOut[Task](t, r, operator, "tasks.cancel", input)
	if dry.Count != 1 || !strings.Contains(dry.Would, "pending") || task.State != string(jobs.Cancelled) {
		t.Errorf("%+v, then %+v", dry, task)
	}
	if dry, _ := carryOut[Task](t, r, operator, "tasks.cancel", input); dry.Count != 0 {
		t.Errorf("a cancelled job is cancelled again: %+v", dry)
	}
	refused(t, r, operator, "tasks.cancel", `{"id":"1000000"}`, NotFound)
}

// Only what failed for good is acknowledged; anything else is a conflict that names the state.
func TestAcknowledgeTask(t *testing.T) {
	t.Parallel()
	r, runtime := fixture(t)
	id := seedTasks(t, runtime, "ann", 1)[0]
	if told := refused(t, r, operator, "tasks.acknowledge", `{"id":"`+id+`"}`, Conflict); !strings.Contains(told.Message, "pending") {
		t.Errorf("%v", told)
	}
	discard(t, r, id)
	for range 2 {
		if task := answerOf[Task](t, r, operator, "tasks.acknowledge", `{"id":"`+id+`"}`); !task.Acknowledged {
			t.Errorf("%+v", task)
		}
	}
}

// The dry run of an act on many changes nothing; the act changes at most its limit, with its line, and says whether there is more.
func TestManyTasks(t *testing.T) {
	t.Parallel()
	r, runtime := fixture(t)
	ids := seedTasks(t, runtime, "ann", 5)
	discard(t, r, ids...)
	execSQL(t, r, `update postbus.river_job set state = 'completed' where id = $1::text::bigint`, ids[4])
	for i, want := range []Changed{{2, true}, {2, false}, {0, false}} {
		dry, changed := carryOut[Changed](t, r, operator, "tasks.retry_many", `{"kinds":["work"],"limit":2}`)
		if changed != want || dry.Count != int64(4-2*i) || dry.About {
			t.Errorf("retry %d: %+v, then %+v; want %+v", i, dry, changed, want)
		}
	}
	if dry, changed := carryOut[Changed](t, r, operator, "tasks.retry_many", `{"states":["completed","running"]}`); dry.Count != 1 || changed.Changed != 1 {
		t.Errorf("a completed job, asked for: %+v, %+v", dry, changed)
	}
	for i, want := range []Changed{{3, true}, {2, false}} {
		if _, changed := carryOut[Changed](t, r, operator, "tasks.cancel_many", `{"owner_id":"ann","limit":3}`); changed != want {
			t.Errorf("cancel %d: %+v, want %+v", i, changed, want)
		}
	}
	if dry, changed := carryOut[Changed](t, r, operator, "tasks.cancel_many", `{"states":["completed"]}`); dry.Count != 0 || changed.Changed != 0 {
		t.Errorf("completed jobs are cancelled: %+v, %+v", dry, changed)
	}
	var lines int
	if err := r.deps.Pool.QueryRow(t.Context(), `select count(*) from postbus.audit where operation like 'tasks.%_many' and result = 'ok'`).Scan(&lines); err != nil || lines != 7 {
		t.Errorf("%d lines, %v", lines, err)
	}
	refused(t, r, operator, "tasks.retry_many", `{"limit":10001}`, Invalid)
}

// A token of one filter does not do another.
func TestManyTasksConfirmTheirFilter(t *testing.T) {
	t.Parallel()
	r, runtime := fixture(t)
	seedTasks(t, runtime, "ann", 1)
	answer, told := do(t, r, operator, "tasks.cancel_many", `{"kinds":["other"]}`)
	if told != nil {
		t.Fatal(told)
	}
	_, err := r.Do(t.Context(), Request{Operation: "tasks.cancel_many", Who: operator, Input: json.RawMessage(`{}`), Confirm: answer.DryRun.Confirm})
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.Code != Conflict {
		t.Errorf("a token of another filter: %v", err)
	}
}
