package measure

import (
	"context"
	"fmt"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/measuresql"
	"github.com/postbus/postbus/pg"
)

// Query asks for one series.
type Query struct {
	// Series is one of Series, Label a kind of job or "" for all.
	Series, Label string
	// Since and Until bound the minutes: at or after Since, before Until.
	Since, Until time.Time
	// Step is the length of a slot in minutes. Slots are aligned to 1970, in UTC.
	Step int
}

// Slot is what happened in some minutes.
type Slot struct {
	// At is when the slot begins.
	At time.Time
	// N is how many there were.
	N int64
	// Latencies are those that are known of them.
	Latencies Histogram
}

// Read answers the slots in which something happened, in order.
func Read(ctx context.Context, db pg.DBTX, q Query) ([]Slot, error) {
	rows, err := measuresql.New(db).ReadStats(ctx, measuresql.ReadStatsParams{
		Series: q.Series, Label: q.Label, Since: q.Since, Until: q.Until, StepMinutes: int32(q.Step),
	})
	if err != nil {
		return nil, fmt.Errorf("read the statistics: %w", err)
	}
	slots := make([]Slot, len(rows))
	for i, r := range rows {
		slots[i] = Slot{At: r.Slot.UTC(), N: r.N, Latencies: Histogram{SumMS: r.SumMs, Buckets: [bucketCount]int64{
			r.B00, r.B01, r.B02, r.B03, r.B04, r.B05, r.B06, r.B07, r.B08, r.B09, r.B10, r.B11, r.B12, r.B13, r.B14, r.B15, r.B16,
		}}}
	}
	return slots, nil
}
