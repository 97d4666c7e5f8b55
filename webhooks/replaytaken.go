package webhooks

import (
	"context"
	"slices"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

// dataAtOnce is how many events' data are in memory at a time; one may be 256 KiB.
const dataAtOnce = 20

// takenOf answers which of the fresh events the endpoint takes.
func (b *replayBatch) takenOf(ctx context.Context, batch []events.Event, fresh []string) ([]string, error) {
	endpoint, err := b.s.endpointOf(b.at)
	if err != nil {
		return nil, err
	}
	isFresh := map[string]bool{}
	for _, id := range fresh {
		isFresh[id] = true
	}
	batch = slices.DeleteFunc(slices.Clone(batch), func(e events.Event) bool { return !isFresh[e.ID] })
	var taken []string
	for part := range slices.Chunk(batch, dataAtOnce) {
		if err := b.loadData(ctx, endpoint, part); err != nil {
			return nil, err
		}
		for i, e := range part {
			if endpoint.takes(e) && (b.s.cfg.Filter == nil || b.s.cfg.Filter(ctx, endpoint, e)) {
				taken = append(taken, e.ID)
			}
			part[i].Data = nil
		}
	}
	return taken, nil
}

// loadData fills in the data, where somebody looks at them.
func (b *replayBatch) loadData(ctx context.Context, endpoint Endpoint, part []events.Event) error {
	if len(endpoint.Scope.Data) == 0 && b.s.cfg.Filter == nil {
		return nil
	}
	rows, err := queries(b.tx).DataOf(ctx, webhooksql.DataOfParams{Ids: idsOf(part)})
	if err != nil {
		return err
	}
	data := make(map[string][]byte, len(rows))
	for _, row := range rows {
		data[row.ID] = row.Data
	}
	for i := range part {
		part[i].Data = data[part[i].ID]
	}
	return nil
}
