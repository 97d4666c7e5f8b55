package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/bulk"
	"github.com/postbus/postbus/mail"
	"github.com/postbus/postbus/pg"
	"github.com/postbus/postbus/webhooks"
	"github.com/postbus/postbus/work"
)

// Deps are what operations work on.
type Deps struct {
	Pool     *pgxpool.Pool
	Events   *events.Bus
	Runtime  jobs.Runtime
	Webhooks *webhooks.Service
	Mail     *mail.Service
	// Work hands jobs to workers. Defaults to one on Pool, Events and Runtime whose waiting claims look once a second.
	Work *work.Service
	// Bulk acts on many jobs. Defaults to one on Pool and Runtime.
	Bulk *bulk.Service
	// Alerts answers what stands now, of all rooms.
	Alerts func(ctx context.Context) ([]events.Alert, error)
	// Listener answers how this process hears notifications. Without it system.status does not say.
	Listener func() pg.ListenerState
	// Version is the program's.
	Version string
	// Log gets what callers are not told. Defaults to slog.Default().
	Log *slog.Logger
}

// Registry has all operations.
type Registry struct {
	deps   Deps
	byName map[string]*Operation
	names  []string
}

// New declares all operations on deps.
func New(deps Deps) (*Registry, error) {
	if deps.Log == nil {
		deps.Log = slog.Default()
	}
	if deps.Bulk == nil {
		deps.Bulk = bulk.New(deps.Pool, deps.Log)
		deps.Bulk.Bind(deps.Runtime)
	}
	if deps.Work == nil {
		deps.Work = work.New(deps.Pool, work.Config{Log: deps.Log})
		deps.Work.Bind(deps.Events, deps.Runtime)
	}
	r := &Registry{deps: deps, byName: map[string]*Operation{}}
	for _, room := range []func(*Registry) error{
		declareTasks, declareEvents, declareWebhooks, declareMail, declareWork, declareWorkers,
		declareQueues, declarePeriodic, declareAlerts, declareAudit, declareStats, declareInstances, declareSystem, declareTokens, declareAccounts, declareSessions,
	} {
		if err := room(r); err != nil {
			return nil, fmt.Errorf("ops: %w", err)
		}
	}
	slices.Sort(r.names)
	return r, nil
}

// add declares one operation.
func add[In, Out any](r *Registry, op Op[In, Out]) error {
	o, err := op.erase()
	if err != nil {
		return err
	}
	if _, ok := r.byName[o.Name]; ok {
		return fmt.Errorf("operation %q is declared twice", o.Name)
	}
	r.byName[o.Name] = o
	r.names = append(r.names, o.Name)
	return nil
}

// All are the operations, by name.
func (r *Registry) All() []*Operation {
	out := make([]*Operation, len(r.names))
	for i, name := range r.names {
		out[i] = r.byName[name]
	}
	return out
}

// Get answers one operation.
func (r *Registry) Get(name string) (*Operation, bool) {
	o, ok := r.byName[name]
	return o, ok
}

// Request is one call as a face hands it over.
type Request struct {
	Operation string
	Who       Identity
	Face      Face
	// Input is the JSON object of the operation's input; empty is {}.
	Input json.RawMessage
	// Confirm is the token of the dry run before, for a destructive operation.
	Confirm string
	// ID is the request's, for the log. Optional.
	ID string
}

// Answer is what a call answers: Output, or for a destructive operation without a confirmation DryRun.
type Answer struct {
	Output any
	DryRun *DryRun
}

// DryRun is what a destructive operation would do, and the token with which to do it.
type DryRun struct {
	Preview
	Confirm string `json:"confirm" doc:"Call again with the same input and this token to do it; it ends after ten minutes"`
}

// Do makes the call. Its errors are *Error.
func (r *Registry) Do(ctx context.Context, req Request) (Answer, error) {
	o, ok := r.byName[req.Operation]
	if !ok {
		return Answer{}, newError(NotFound, "there is no operation %q", req.Operation)
	}
	answer, err := r.do(ctx, o, req)
	if err == nil {
		return answer, nil
	}
	told := Explain(err)
	if told.Code == Internal {
		r.deps.Log.ErrorContext(ctx, "operation failed", "operation", o.Name, "who", req.Who.Name, "face", req.Face, "request_id", req.ID, "error", err)
		told.logged = true
	}
	return Answer{}, told
}

func (r *Registry) do(ctx context.Context, o *Operation, req Request) (Answer, error) {
	if err := o.authorise(req.Who); err != nil {
		return Answer{}, r.refuse(ctx, o, req, err)
	}
	if strings.TrimSpace(string(req.Input)) == "" {
		req.Input = json.RawMessage("{}")
	}
	if err := check(o.Input, req.Input); err != nil {
		return Answer{}, err
	}
	call := &Call{Deps: r.deps, Who: req.Who, Face: req.Face, target: &target{}}
	if !o.Writes() || o.Unaudited {
		out, err := o.run(ctx, call, req.Input)
		return Answer{Output: out}, err
	}
	if o.Destructive && req.Confirm == "" {
		return r.preview(ctx, o, call, req)
	}
	if o.Destructive {
		if err := r.confirmed(ctx, o, req); err != nil {
			return Answer{}, err
		}
	}
	return r.act(ctx, o, call, req)
}

// refuse puts on record that somebody wanted to act who may not. What was asked is written down only where it fits the operation.
func (r *Registry) refuse(ctx context.Context, o *Operation, req Request, why error) error {
	if !o.Writes() {
		return why
	}
	if check(o.Input, req.Input) != nil {
		req.Input = nil
	}
	if err := audit(ctx, r.deps.Pool, o, req, nil, Explain(why)); err != nil {
		r.deps.Log.ErrorContext(ctx, "a refused act is not on record", "operation", o.Name, "who", req.Who.Name, "error", err)
	}
	return why
}

// act runs the operation and writes its audit line in one transaction. A failure is on record too, in one of its own.
func (r *Registry) act(ctx context.Context, o *Operation, call *Call, req Request) (Answer, error) {
	var out any
	err := pg.InTx(ctx, r.deps.Pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		within := *call
		within.Tx = tx
		if out, err = o.run(ctx, &within, req.Input); err != nil {
			return err
		}
		return audit(ctx, tx, o, req, out, nil)
	})
	if err != nil {
		if told := Explain(err); told.Code != Unavailable {
			if logErr := audit(ctx, r.deps.Pool, o, req, call.target, told); logErr != nil {
				r.deps.Log.ErrorContext(ctx, "a failed act is not on record", "operation", o.Name, "error", logErr)
			}
		}
		return Answer{}, err
	}
	return Answer{Output: out}, nil
}

func (r *Registry) preview(ctx context.Context, o *Operation, call *Call, req Request) (Answer, error) {
	preview, err := o.preview(ctx, call, req.Input)
	if err != nil {
		return Answer{}, err
	}
	token, err := r.confirmation(ctx, o, req)
	if err != nil {
		return Answer{}, err
	}
	return Answer{DryRun: &DryRun{Preview: preview, Confirm: token}}, nil
}
