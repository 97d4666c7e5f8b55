package ops

import (
	"encoding/json"
	"fmt"
	"testing"
)

const manyOfAnOwner = `
with jobs as (
    insert into postbus.river_job (id, kind, queue, state, args, metadata, max_attempts)
    select n.i, 'work', case when n.i <= 3 then 'side' else 'default' end, 'available', '{}', '{"owner": "ann"}', 3
    from generate_series(1, 450) as n (i)
)
insert into postbus.events (type, owner_id, subject, fanned_out_at)
select case when n.i <= 3 then 'note.secret' else 'note.changed' end, 'ann', 'a/1', now()
from generate_series(1, 450) as n (i)`

// A page that looks at as many rows as it may and finds none is empty and has a next one; the pages together have all that match.
func TestShortPagesFindAll(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	if _, err := r.deps.Pool.Exec(t.Context(), manyOfAnOwner); err != nil {
		t.Fatal(err)
	}
	for operation, filter := range map[string]string{
		"tasks.list": `"owner_id":"ann","queues":["side"]`, "events.list": `"owner_id":"ann","types":["note.secret"]`,
	} {
		found, pages, cursor := 0, 0, ""
		for pages == 0 || cursor != "" {
			answer, told := do(t, r, operator, operation, fmt.Sprintf(`{%s,"cursor":%q}`, filter, cursor))
			if told != nil {
				t.Fatal(told)
			}
			raw, _ := json.Marshal(answer.Output)
			var page Listed[any]
			if err := json.Unmarshal(raw, &page); err != nil {
				t.Fatal(err)
			}
			found, cursor, pages = found+len(page.Items), page.Next, pages+1
		}
		if found != 3 || pages != 3 {
			t.Errorf("%s: %d found on %d pages, want 3 on 3: 200, 200 and 50 looked at", operation, found, pages)
		}
	}
}
