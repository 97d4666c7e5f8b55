package opscli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/postbus/postbus/ops"
)

// Caller makes calls of operations. Its errors are *ops.Error where the other side had an answer.
type Caller interface {
	// Call calls o. confirm is the token of a dry run, or "".
	Call(ctx context.Context, o *ops.Operation, input json.RawMessage, confirm string) (Answer, error)
}

// Answer is what a call answered: Output, or for a destructive operation without a confirmation DryRun.
type Answer struct {
	Output json.RawMessage
	DryRun *ops.DryRun
}

// Direct calls a registry in this process.
type Direct struct {
	Registry *ops.Registry
	Who      ops.Identity
}

// Call implements Caller.
func (d Direct) Call(ctx context.Context, o *ops.Operation, input json.RawMessage, confirm string) (Answer, error) {
	answer, err := d.Registry.Do(ctx, ops.Request{Operation: o.Name, Who: d.Who, Face: ops.CLI, Input: input, Confirm: confirm})
	if err != nil || answer.DryRun != nil {
		return Answer{DryRun: answer.DryRun}, err
	}
	out, err := json.Marshal(answer.Output)
	if err != nil {
		return Answer{}, fmt.Errorf("encode the answer of %s: %w", o.Name, err)
	}
	return Answer{Output: out}, nil
}
