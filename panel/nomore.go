package panel

import (
	"net/url"

	"github.com/postbus/postbus/ops"
)

// noMore says what became of the one thing that a view shows, and false where the view shows no single thing. A page that stands open
// asks for its parts again after its thing was deleted or pruned: that is news and no failure.
func noMore(query url.Values, code ops.Code) (string, bool) {
	if code != ops.NotFound {
		return "", false
	}
	for _, thing := range []struct{ name, text string }{
		{"delivery", "This delivery is no more: deliveries go with their events."},
		{"endpoint", "This endpoint was deleted."},
		{"event", "This event is no more: events are pruned after their retention."},
		{"job", "This job is no more: jobs that ended are pruned after a while."},
		{"act_id", "This act is no more: acts are pruned 30 days after their end."},
		{"replay", "This replay is no more."},
	} {
		if query.Get(thing.name) != "" {
			return thing.text, true
		}
	}
	return "", false
}
