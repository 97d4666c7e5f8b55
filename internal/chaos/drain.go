package chaos

import (
	"context"
	"time"

	"github.com/postbus/postbus/internal/loop"
)

// backlog is what is left to do at a moment.
type backlog struct {
	Unfanned   int `json:"unfanned"`
	Jobs       int `json:"jobs"`
	Deliveries int `json:"deliveries"`
}

func (b backlog) sum() int { return b.Unfanned + b.Jobs + b.Deliveries }

// sample is the backlog at a time since the beginning.
type sample struct {
	At time.Duration `json:"at"`
	backlog
}

const backlogSQL = `select (select count(*) from postbus.events where fanned_out_at is null),
	(select count(*) from postbus.river_job where kind in ('ledger', 'wide', 'flaky', 'labels', 'webhook.fanout')
		and state not in ('completed', 'discarded', 'cancelled')),
	(select count(*) from postbus.webhook_deliveries where state = 'pending')`

func (w *world) backlog(ctx context.Context) (b backlog, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return b, w.admin.QueryRow(ctx, backlogSQL).Scan(&b.Unfanned, &b.Jobs, &b.Deliveries)
}

// drain waits until nothing is left, or nothing has changed for as long as the patience lasts. It answers whether nothing is left.
func (w *world) drain(ctx context.Context) bool {
	last, changed, quiet := backlog{}, time.Now(), 0
	for time.Since(changed) < w.cfg.Patience && ctx.Err() == nil {
		_ = loop.Sleep(ctx, 250*time.Millisecond)
		b, err := w.backlog(ctx)
		switch {
		case err != nil:
			continue
		case b.sum() == 0:
			if quiet++; quiet >= 4 {
				return true
			}
		default:
			quiet = 0
		}
		if b != last {
			last, changed = b, time.Now()
		}
	}
	w.cfg.Log.Error("it does not come to rest", "unfanned", last.Unfanned, "jobs", last.Jobs, "deliveries", last.Deliveries)
	return false
}

// sampler looks at the backlog, for the picture.
type sampler struct {
	w       *world
	began   time.Time
	samples []sample
	runner  loop.Runner
}

func (s *sampler) start(ctx context.Context) {
	s.runner.Start(ctx, func(ctx context.Context) {
		for ctx.Err() == nil {
			if b, err := s.w.backlog(ctx); err == nil {
				s.samples = append(s.samples, sample{At: time.Since(s.began), backlog: b})
			}
			_ = loop.Sleep(ctx, 300*time.Millisecond)
		}
	})
}

func (s *sampler) stop() { s.runner.Stop() }
