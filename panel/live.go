package panel

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/dbsqlc/panelsql"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

const (
	// lookEvery is how often the process looks for changes while somebody watches; a notification makes it look at once.
	lookEvery = time.Second
	// restBetween is how far apart two updates of a page are at least.
	restBetween = 500 * time.Millisecond
	// lookMayTake bounds a look.
	lookMayTake = 5 * time.Second
	// beatEvery is how often a quiet stream is heard, so that proxies and browsers do not take it for dead: a page that hears
	// nothing for 40 seconds says that it has no connection, and comes again.
	beatEvery = 15 * time.Second
	// maxStreams is how many streams one process holds.
	maxStreams = 500
)

// LiveConfig is what a Live looks at.
type LiveConfig struct {
	Pool      *pgxpool.Pool
	Inspector jobs.Inspector
	// Listener makes it look at once. Without one it looks every second.
	Listener *pg.Listener
	// Alerts answers what stands now. Optional.
	Alerts func(ctx context.Context) ([]events.Alert, error)
	// Log defaults to slog.Default().
	Log *slog.Logger
}

// Live finds out what changes and tells all pages of the process: one look for all of them, and none while nobody watches.
type Live struct {
	cfg    LiveConfig
	runner loop.Runner

	mu      sync.Mutex
	streams map[chan []string]struct{}
	came    chan struct{} // somebody began to watch
	stamps  map[string]string
	ended   chan struct{}
}

// NewLive makes one. It does nothing until Start.
func NewLive(cfg LiveConfig) *Live {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	return &Live{
		cfg: cfg, runner: loop.Runner{Name: "panel live", Log: cfg.Log}, streams: map[chan []string]struct{}{}, came: make(chan struct{}, 1),
		ended: make(chan struct{}),
	}
}

// Start begins to look when somebody watches.
func (l *Live) Start(ctx context.Context) { l.runner.Start(ctx, l.run) }

// Stop ends all streams: browsers come back by themselves, to whoever answers then. It cannot be started again.
func (l *Live) Stop() {
	l.mu.Lock()
	select {
	case <-l.ended:
	default:
		close(l.ended)
	}
	l.mu.Unlock()
	l.runner.Stop()
}

// run looks: at once when something is heard, otherwise every second, and not at all while nobody watches.
func (l *Live) run(ctx context.Context) {
	var heard <-chan pg.Notification
	if l.cfg.Listener != nil {
		fanned := l.cfg.Listener.Subscribe("postbus_fanned")
		defer fanned.Close()
		heard = fanned.C()
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.came:
		case _, open := <-heard:
			if !open {
				heard = nil
			}
		case <-timer.C:
		}
		if l.watched() {
			if err := l.look(ctx); err != nil && ctx.Err() == nil {
				l.cfg.Log.WarnContext(ctx, "the panel could not look for changes; it tries again", "error", err)
			}
		}
		if loop.Sleep(ctx, restBetween) != nil {
			return
		}
		timer.Reset(lookEvery - restBetween)
	}
}

func (l *Live) watched() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.streams) > 0
}

// look tells of every topic whose stamp is another than before. At the first look nobody knows what it was when the page was made.
func (l *Live) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookMayTake)
	defer cancel()
	stamps, err := l.stamp(ctx)
	if err != nil {
		return err
	}
	var changed []string
	for _, topic := range slices.Sorted(maps.Keys(stamps)) {
		if before, known := l.stamps[topic]; !known || before != stamps[topic] {
			changed = append(changed, topic)
		}
	}
	l.stamps = stamps
	if len(changed) > 0 {
		l.tell(changed)
	}
	return nil
}

// stamp answers a text for each topic that is another one when something of it has changed.
func (l *Live) stamp(ctx context.Context) (map[string]string, error) {
	queries := panelsql.New(l.cfg.Pool)
	stamps := map[string]string{}
	for topic, ask := range map[string]func(context.Context) (string, error){
		"jobs": l.jobStamp, "events": queries.EventStamp, "webhooks": queries.WebhookStamp, "alerts": l.alertStamp,
		"acts": queries.ActStamp,
	} {
		stamp, err := ask(ctx)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", topic, err)
		}
		stamps[topic] = stamp
	}
	return stamps, nil
}

// jobStamp is the overview and the newest job: a job that is made, begins, fails or ends changes one of them.
func (l *Live) jobStamp(ctx context.Context) (string, error) {
	overview, err := l.cfg.Inspector.Overview(ctx, "")
	if err != nil {
		return "", err
	}
	newest, err := l.cfg.Inspector.List(ctx, jobs.Filter{Limit: 1})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal([]any{overview, newest.Jobs})
	return string(text), err
}

func (l *Live) alertStamp(ctx context.Context) (string, error) {
	if l.cfg.Alerts == nil {
		return "", nil
	}
	alerts, err := l.cfg.Alerts(ctx)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(alerts)
	return string(text), err
}

// tell hands the topics to every stream. One that has not taken the last ones yet gets these with them.
func (l *Live) tell(changed []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for stream := range l.streams {
		topics := changed
		select {
		case waiting := <-stream:
			topics = union(waiting, changed)
		default:
		}
		stream <- topics // it has room: only tell puts something in, and it was emptied above
	}
}

func union(a, b []string) []string {
	both := slices.Concat(a, b)
	slices.Sort(both)
	return slices.Compact(both)
}

// watch begins a stream, and false where there are too many. It begins with every topic: the page was made before there was anybody
// to tell of a change.
func (l *Live) watch() (stream chan []string, leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.streams) >= maxStreams {
		return nil, nil, false
	}
	stream = make(chan []string, 1)
	stream <- []string{"acts", "alerts", "events", "jobs", "webhooks"}
	l.streams[stream] = struct{}{}
	select {
	case l.came <- struct{}{}:
	default:
	}
	return stream, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.streams, stream)
	}, true
}

// live is the stream of server-sent events: one event "live-TOPIC" for each topic that changed.
func (p *Panel) live(w http.ResponseWriter, r *http.Request) {
	if _, ok := p.cfg.Auth.Who(r); !ok {
		http.Error(w, "nobody is logged in", http.StatusUnauthorized)
		return
	}
	if p.cfg.Live == nil {
		http.Error(w, "this panel is not live", http.StatusNotFound)
		return
	}
	stream, leave, ok := p.cfg.Live.watch()
	if !ok {
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("%d pages watch already; try again later", maxStreams), http.StatusServiceUnavailable)
		return
	}
	defer leave()
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("X-Accel-Buffering", "no") // nginx would hold events back
	p.send(w, r, stream)
}

// send writes until the browser goes, the session ends or the process stops.
func (p *Panel) send(w http.ResponseWriter, r *http.Request, stream <-chan []string) {
	out := http.NewResponseController(w)
	beat := time.NewTimer(beatEvery)
	defer beat.Stop()
	write := func(text string) bool {
		_ = out.SetWriteDeadline(time.Now().Add(10 * time.Second)) // where the server has none, nothing is lost
		_, err := fmt.Fprint(w, text)
		return err == nil && out.Flush() == nil
	}
	for more := write("retry: 1000\n\n"); more; {
		select {
		case <-r.Context().Done():
			return
		case <-p.cfg.Live.ended:
			return
		case topics := <-stream:
			for _, topic := range topics {
				more = more && write("event: live-"+topic+"\ndata: 1\n\n")
			}
		case <-beat.C:
			if _, ok := p.cfg.Auth.Who(r); !ok {
				return
			}
			more = write("event: beat\ndata: 1\n\n")
		}
		beat.Reset(beatEvery)
	}
}
