package peer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/bench/internal/rig"
)

const watermillVersion = "v4.1.2"

func watermillGroups() System {
	return System{
		Name: "watermill",
		Setup: Setup{
			Title: "watermill-sql, consumer groups", Version: watermillVersion,
			How: "the default schema, a consumer group per subscriber, batches of 1,000, polling every 10 ms; a failure holds up its group",
		},
		open: openWatermill(false),
	}
}

// watermillQueue is the mode for competing consumers.
func watermillQueue() System {
	return System{
		Name: "watermill_queue",
		Setup: Setup{
			Title: "watermill-sql, queue mode", Version: watermillVersion,
			How: "PostgreSQLQueueSchema with DeleteOnAck, four consumers of one topic, batches of 100, polling every 10 ms",
		},
		open: openWatermill(true),
	}
}

// competing is how many consumers share the topic in queue mode.
const competing = 4

type watermillTopic struct {
	db          *rig.Database
	subscribers int
	queue       bool
	schema      wsql.SchemaAdapter
}

func openWatermill(queue bool) func(context.Context, *rig.Database, int) (Instance, error) {
	return func(ctx context.Context, db *rig.Database, subscribers int) (Instance, error) {
		w := &watermillTopic{db: db, subscribers: subscribers, queue: queue, schema: wsql.DefaultPostgreSQLSchema{SubscribeBatchSize: 1000}}
		if queue {
			if subscribers != 1 {
				return nil, errors.New("queue mode has no consumer groups: one subscriber")
			}
			w.schema = wsql.PostgreSQLQueueSchema{SubscribeBatchSize: 100}
		}
		sub, err := w.subscribe(db.Pool, "")
		if err != nil {
			return nil, err
		}
		return w, errors.Join(sub.SubscribeInitialize(topic), sub.Close())
	}
}

func (w *watermillTopic) subscribe(db wsql.Conn, group string) (*wsql.Subscriber, error) {
	cfg := wsql.SubscriberConfig{
		ConsumerGroup: group, SchemaAdapter: w.schema, OffsetsAdapter: wsql.DefaultPostgreSQLOffsetsAdapter{}, PollInterval: 10 * time.Millisecond,
	}
	if w.queue {
		cfg.OffsetsAdapter = wsql.PostgreSQLQueueOffsetsAdapter{DeleteOnAck: true}
	}
	return wsql.NewSubscriber(wsql.BeginnerFromPgx(db), cfg, watermill.NopLogger{})
}

func (w *watermillTopic) Record(_ context.Context, tx pgx.Tx, _ int, data []byte) error {
	publisher, err := wsql.NewPublisher(wsql.TxFromPgx(tx), wsql.PublisherConfig{SchemaAdapter: w.schema}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	return publisher.Publish(topic, message.NewMessage(watermill.NewUUID(), data))
}

func (w *watermillTopic) Start(ctx context.Context, handled Handled) (func(context.Context) error, error) {
	consumers := w.subscribers
	if w.queue {
		consumers = competing
	}
	pool, err := w.db.NewPool(ctx, max(conns, 2*consumers)) // each holds a transaction
	if err != nil {
		return nil, err
	}
	var running sync.WaitGroup
	var subs []*wsql.Subscriber
	for s := range consumers {
		group := subscriber(s)
		if w.queue {
			group, s = "", 0
		}
		sub, err := w.subscribe(pool, group)
		if err != nil {
			return nil, err
		}
		subs = append(subs, sub)
		messages, err := sub.Subscribe(context.WithoutCancel(ctx), topic)
		if err != nil {
			return nil, err
		}
		running.Go(func() {
			for m := range messages {
				handled(s, numberOf(m.Payload))
				m.Ack()
			}
		})
	}
	return func(context.Context) (err error) {
		for _, sub := range subs {
			err = errors.Join(err, sub.Close())
		}
		running.Wait()
		return err
	}, nil
}
