package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/pg"
)

// clerk makes the turns of all lanes of the process, those that wait at the same moment in one transaction: while one
// commits, the next gather. An idle process pays nothing for it, a busy one a fraction of a transaction for a delivery.
type clerk struct {
	s      *Service
	desk   chan request
	runner loop.Runner
}

type request struct {
	turn  turn
	reply chan<- response
}

type response struct {
	turned turned
	err    error
}

const (
	// together is how many turns one transaction takes.
	together = 64
	// turnTimeout bounds a transaction.
	turnTimeout = 10 * time.Second
)

func newClerk(s *Service) *clerk {
	c := &clerk{s: s, desk: make(chan request, together)}
	c.runner.Name, c.runner.Log = "webhook clerk", s.cfg.Log
	return c
}

func (c *clerk) start(ctx context.Context) { c.runner.Start(ctx, c.run) }

// stop ends the clerk after the turns under way.
func (c *clerk) stop() { c.runner.Stop() }

func (c *clerk) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case first := <-c.desk:
			c.serve(context.WithoutCancel(ctx), c.gather(first))
		}
	}
}

// gather takes whoever waits.
func (c *clerk) gather(first request) []request {
	batch := []request{first}
	for len(batch) < together {
		select {
		case r := <-c.desk:
			batch = append(batch, r)
		default:
			return batch
		}
	}
	return batch
}

// serve makes the turns together, and one by one where together they fail: a fault of one must not cost the others.
func (c *clerk) serve(ctx context.Context, batch []request) {
	if c.try(ctx, batch) == nil {
		return
	}
	stuck := map[string]error{}
	for _, r := range batch {
		id := r.turn.args.EndpointID
		if err, ok := stuck[id]; ok {
			r.reply <- response{err: err}
			continue
		}
		if err := c.alone(ctx, r); err != nil {
			stuck[id] = err
			r.reply <- response{err: err}
		}
	}
}

// alone makes one turn. Where the database refuses what is to be written of the answer, the result is written without it: a
// delivery must not be sent for ever because its log cannot be kept.
func (c *clerk) alone(ctx context.Context, r request) error {
	err := c.try(ctx, []request{r})
	if err == nil || !pg.IsRowFault(err) || r.turn.sent == nil {
		return err
	}
	c.s.cfg.Log.ErrorContext(ctx, "an attempt could not be put on record; its result is", "delivery", r.turn.sent.ID, "error", err)
	r.turn.bare = true
	return c.try(ctx, []request{r})
}

// try answers the whole batch, or nobody and an error.
func (c *clerk) try(ctx context.Context, batch []request) error {
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	turns := make([]turn, len(batch))
	for i, r := range batch {
		turns[i] = r.turn
	}
	var answers []turned
	var came ends
	// Together turns a panic into an error: without its clerk a process would deliver nothing any more.
	err := loop.Together(ctx, 1, func(ctx context.Context, _ int) error {
		return pg.InShortTx(ctx, c.s.pool, func(ctx context.Context, tx pgx.Tx) error {
			err := queries(tx).BeginTurn(ctx)
			if err == nil {
				answers, came, err = c.s.take(ctx, tx, turns)
			}
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("turn of %d webhook lanes: %w", len(batch), err)
	}
	came.tell(c.s.cfg.Measures)
	for i, r := range batch {
		r.reply <- response{turned: answers[i]}
	}
	return nil
}

// turn makes one lane's turn.
func (c *clerk) turn(ctx context.Context, t turn) (turned, error) {
	answer, err := c.ask(ctx, t)
	if err != nil {
		return turned{}, err
	}
	return answer.wait(ctx)
}

// asked is a turn that was handed in.
type asked <-chan response

// ask hands a turn in, so that the lane can do something else until it is made.
func (c *clerk) ask(ctx context.Context, t turn) (asked, error) {
	reply := make(chan response, 1)
	select {
	case c.desk <- request{turn: t, reply: reply}:
		return reply, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (a asked) wait(ctx context.Context) (turned, error) {
	select {
	case r := <-a:
		return r.turned, r.err
	case <-ctx.Done():
		return turned{}, ctx.Err()
	}
}
