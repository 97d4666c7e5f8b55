package river

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/riverqueue/river/riverdriver"

	"github.com/postbus/postbus/pg"
)

const (
	schema       = "postbus"
	insertTopic  = "river_insert"  // river/internal/notifier, NotificationTopicInsert
	controlTopic = "river_control" // river/internal/notifier, NotificationTopicControl
	earBuffer    = 1024
)

// ear is River's listener on the process's one LISTEN connection; River's own would take another. It also hears what the
// process says to itself, which is all that it hears where LISTEN is not to be had. What does not fit its buffer is lost:
// River polls.
type ear struct {
	hub    *pg.Listener // nil: none
	log    *slog.Logger
	queues map[string]bool
	heard  chan *riverdriver.Notification

	mu     sync.Mutex
	subs   map[string]func()
	paused map[string]bool // what was heard last, of the queues in queues
}

var _ riverdriver.Listener = (*ear)(nil)

func newEar(hub *pg.Listener, queues map[string]int, log *slog.Logger) *ear {
	e := &ear{hub: hub, log: log, queues: map[string]bool{}, heard: make(chan *riverdriver.Notification, earBuffer), subs: map[string]func(){}, paused: map[string]bool{}}
	for queue := range queues {
		e.queues[storedQueue(queue)] = true
	}
	return e
}

// hears reports whether notifications arrive.
func (e *ear) hears() bool { return e.hub != nil && !e.hub.Deaf() }

// insert tells the producer of a queue that there is something to fetch, and reports whether there is such a producer.
func (e *ear) insert(queue string) bool {
	if !e.queues[queue] {
		return false
	}
	payload, _ := json.Marshal(map[string]string{"queue": queue}) // strings always marshal
	e.push(insertTopic, string(payload))
	return true
}

// command is what River's producers are told of a queue (river/producer.go, controlEventPayload).
type command struct {
	Action string `json:"action"`
	Queue  string `json:"queue"`
}

const (
	pauseAction  = "pause"
	resumeAction = "resume"
)

// control tells the producer of a queue to pause or resume; saying it again changes nothing.
func (e *ear) control(c command) {
	e.obey(c)
	payload, _ := json.Marshal(c) // strings always marshal
	e.push(controlTopic, string(payload))
}

// obey notes a pause or its end at once. River's producers take it up when they come to it, and may take up an older poll of theirs
// after it: until then they would go on fetching.
func (e *ear) obey(c command) {
	e.mu.Lock()
	ended := c.Action == resumeAction && e.paused[c.Queue]
	switch {
	case !e.queues[c.Queue]:
	case c.Action == pauseAction:
		e.paused[c.Queue] = true
	case c.Action == resumeAction:
		delete(e.paused, c.Queue)
	}
	e.mu.Unlock()
	if ended {
		e.insert(c.Queue)
	}
}

// holds reports whether a pause of the queue was heard, and nothing since.
func (e *ear) holds(queue string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.paused[queue]
}

func (e *ear) push(topic, payload string) {
	select {
	case e.heard <- &riverdriver.Notification{Topic: topic, Payload: payload}:
	default:
	}
}

func (e *ear) Connect(context.Context) error { return nil }
func (e *ear) Ping(context.Context) error    { return nil }
func (e *ear) Schema() string                { return schema }
func (e *ear) SetAfterConnectExec(string)    {}

func (e *ear) Close(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for topic, stop := range e.subs {
		stop()
		delete(e.subs, topic)
	}
	return nil
}

func (e *ear) Listen(_ context.Context, topic string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.hub == nil || e.subs[topic] != nil {
		return nil
	}
	e.subs[topic] = follow(e.hub, schema+"."+topic, e.log, func(n pg.Notification) { e.hear(topic, n) })
	return nil
}

// hear passes a notification on. Where some may have been missed, every queue may have work, and which are paused is for River to
// find out, which polls.
func (e *ear) hear(topic string, n pg.Notification) {
	switch {
	case n.Resync && topic == insertTopic:
		for queue := range e.queues {
			e.insert(queue)
		}
	case n.Resync:
		e.mu.Lock()
		clear(e.paused)
		e.mu.Unlock()
	default:
		var c command
		if topic == controlTopic && json.Unmarshal([]byte(n.Payload), &c) == nil {
			e.obey(c)
		}
		e.push(topic, n.Payload)
	}
}

func (e *ear) Unlisten(_ context.Context, topic string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if stop, ok := e.subs[topic]; ok {
		stop()
		delete(e.subs, topic)
	}
	return nil
}

func (e *ear) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	select {
	case n := <-e.heard:
		return n, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
