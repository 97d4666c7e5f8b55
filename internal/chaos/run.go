package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/postbus/postbus/internal/loop"
)

// Run makes a world, breaks it for the given time by the plan of the seed, lets it come to rest, and compares what is there with
// what should be. The error says that it could not be run; what it found is in the report.
func Run(ctx context.Context, cfg Config) (Report, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return Report{}, err
	}
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return Report{}, fmt.Errorf("chaos: %w", err)
	}
	if err := os.RemoveAll(filepath.Join(cfg.Dir, workerLog)); err != nil {
		return Report{}, fmt.Errorf("chaos: %w", err)
	}
	w, err := build(ctx, cfg)
	if err != nil {
		return Report{}, err
	}
	r, err := w.live(ctx)
	if err := errors.Join(err, w.close()); err != nil {
		return r, err
	}
	return r, r.write(cfg.Dir)
}

// live runs the world from its first to its last moment.
func (w *world) live(ctx context.Context) (Report, error) {
	r := Report{Seed: w.cfg.Seed, Plant: w.cfg.Plant, Duration: w.cfg.Duration, Buses: w.cfg.Buses}
	for _, p := range w.processes() {
		if err := p.start(); err != nil {
			return r, err
		}
	}
	if err := w.untilAlive(ctx); err != nil {
		return r, err
	}
	r.Began = time.Now()
	s := sampler{w: w, began: r.Began}
	s.start(ctx)
	defer s.stop()
	w.writers.start(ctx, w.cfg.Seed)
	defer w.writers.stop()
	r.Faults = planFor(allKinds(w.clockBinary != ""), w.cfg.Seed, w.cfg.Buses, w.cfg.Duration)
	w.cfg.Log.Info("chaos begins", "seed", w.cfg.Seed, "faults", len(r.Faults), "for", w.cfg.Duration, "plant", w.cfg.Plant)
	w.breakThings(ctx, r.Began, r.Faults)
	w.writers.stop()
	if err := w.cease(ctx); err != nil {
		return r, err
	}
	r.Ceased = time.Since(r.Began)
	r.Drained = w.drain(ctx)
	r.Rested = time.Since(r.Began)
	s.stop()
	r.Samples = s.samples
	for _, p := range w.processes() {
		p.kill()
		starts, crashes, err := p.story()
		if err != nil {
			return r, err
		}
		r.Restarts, r.Crashes = r.Restarts+starts-1, r.Crashes+crashes
	}
	return r, w.check(ctx, &r)
}

func (w *world) processes() []*process { return append(slices.Clone(w.buses), w.worker) }

func (w *world) untilAlive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		var n int
		err := w.admin.QueryRow(ctx, `select count(*) from postbus.instances`).Scan(&n)
		if err == nil && n >= w.cfg.Buses {
			return nil
		}
		if err := loop.Sleep(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("chaos: %d of %d buses came up; see %s", n, w.cfg.Buses, w.path("bus-0.out"))
		}
	}
}

// breakThings carries out the plan and returns when its last fault has ended.
func (w *world) breakThings(ctx context.Context, began time.Time, plan []Fault) {
	kinds := map[string]kind{}
	for _, k := range allKinds(true) {
		kinds[k.name] = k
	}
	var all sync.WaitGroup
	defer all.Wait()
	for i := range plan {
		f := &plan[i]
		if loop.Sleep(ctx, f.At-time.Since(began)) != nil {
			return
		}
		all.Go(func() { w.breakOne(ctx, began, kinds[f.Kind], f) })
	}
	_ = loop.Sleep(ctx, w.cfg.Duration-time.Since(began))
}

func (w *world) breakOne(ctx context.Context, began time.Time, k kind, f *Fault) {
	f.Began = time.Since(began)
	end, err := k.begin(ctx, w, f)
	if err != nil {
		f.Error = err.Error()
	}
	if end != nil {
		_ = loop.Sleep(ctx, f.At+f.For-time.Since(began))
		err = w.insist(context.WithoutCancel(ctx), end)
		if err != nil {
			f.Error = "it could not be ended: " + err.Error()
		}
	}
	f.Ended = time.Since(began)
	w.cfg.Log.Debug("fault", "kind", f.Kind, "at", f.Began.Round(time.Millisecond), "for", (f.Ended - f.Began).Round(time.Millisecond), "error", f.Error)
}

// insist ends a fault, which may need a Postgres that another fault has stopped.
func (w *world) insist(ctx context.Context, end func(context.Context) error) error {
	var err error
	for range 60 {
		if err = end(ctx); err == nil {
			return nil
		}
		w.cfg.Log.Debug("a fault does not end yet", "error", err)
		_ = loop.Sleep(ctx, 500*time.Millisecond)
	}
	return err
}

// cease makes sure that nothing is broken any more.
func (w *world) cease(ctx context.Context) error {
	w.sink.calmDown()
	w.sinkProxy.Heal()
	w.writersProxy.Heal()
	if err := w.insist(ctx, w.server.StartAgain); err != nil {
		return fmt.Errorf("chaos: Postgres does not come back: %w", err)
	}
	for _, p := range w.processes() {
		p.proxy.Heal()
		p.proxy.DropNotifications(false)
		if err := p.start(); err != nil {
			return err
		}
	}
	return nil
}
