package ops

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"
)

// Access is what an operation asks of its caller. Act holds Read and Admin holds all; Record and Work are apart: they are for
// recording events, and for workers, and nothing else. See Identity.May.
type Access string

const (
	Record Access = "record" // events.record only
	Work   Access = "work"   // claim jobs of external kinds and settle them
	Read   Access = "read"   // look
	Act    Access = "act"    // look and repair
	Admin  Access = "admin"  // everything, accounts and tokens included
)

// Op declares one operation.
type Op[In, Out any] struct {
	// Name is "room.verb", lower-case with underscores: "tasks.retry_many". Its MCP name has an underscore for the dot and at
	// most 40 bytes.
	Name string
	// Summary is one line for help, OpenAPI and tool lists.
	Summary string
	// Access is the level a caller needs.
	Access Access
	// Global operations are about all owners: a caller bound to one is refused. In all others Run keeps to Call.Owner.
	Global bool
	// Destructive operations ask for a confirmation; they need Preview.
	Destructive bool
	// Idempotent operations do no more when they are called again.
	Idempotent bool
	// ReadOnly operations change nothing although they ask for more than Read: they have no Call.Tx and no audit line. Those with
	// Access Read are so without saying it.
	ReadOnly bool
	// Unaudited operations write and have no Call.Tx and no audit line: the job that they are about says who held it, when and how
	// it ended. Those of workers are so: they are called for every job, and may wait.
	Unaudited bool
	// Preview says what a destructive operation would touch. It must change nothing.
	Preview func(ctx context.Context, c *Call, in In) (Preview, error)
	// Run does it. Operations that write run in the transaction Call.Tx, in which the audit line is written.
	Run func(ctx context.Context, c *Call, in In) (Out, error)
}

// Preview is what a destructive operation would do.
type Preview struct {
	Would string `json:"would" doc:"What would be done, in a sentence"`
	Count int64  `json:"count" doc:"How many things it would touch"`
	About bool   `json:"about,omitempty" doc:"Counting stopped at a cap: it would touch at least as many"`
}

// Call is one call under way.
type Call struct {
	Deps
	// Who calls, and over which face.
	Who  Identity
	Face Face
	// Tx is the transaction of an act; nil for reads and previews.
	Tx pgx.Tx

	target *target // nil outside of a registry
}

// Face is the way a call came.
type Face string

const (
	// HTTP is package ops/http.
	HTTP Face = "http"
	// MCP is package ops/mcp.
	MCP Face = "mcp"
	// CLI is package ops/cli on a database; through a server it is HTTP.
	CLI Face = "cli"
	// Panel is the Tasks panel.
	Panel Face = "panel"
)

// Operation is an Op without its types, as the faces see it.
type Operation struct {
	Name, Summary                   string
	Access                          Access
	Global, Destructive, Idempotent bool
	// ReadOnly is so for all that change nothing.
	ReadOnly bool
	// Unaudited ones leave no audit line where they are done.
	Unaudited bool
	// Input and Output are JSON schemas with no references.
	Input, Output *huma.Schema

	preview func(ctx context.Context, c *Call, raw json.RawMessage) (Preview, error)
	run     func(ctx context.Context, c *Call, raw json.RawMessage) (any, error)
}

// Writes says whether it changes anything.
func (o *Operation) Writes() bool { return !o.ReadOnly }

// erase checks the declaration and takes away the types. Its errors are mistakes of this package, found by the first test.
func (op Op[In, Out]) erase() (*Operation, error) {
	if op.Run == nil || op.Destructive != (op.Preview != nil) || op.Destructive && (op.ReadOnly || op.Unaudited || op.Access == Read) {
		return nil, fmt.Errorf("operation %q: Run is missing, or Preview or ReadOnly does not go with Destructive", op.Name)
	}
	o := &Operation{
		Name: op.Name, Summary: op.Summary, Access: op.Access, Global: op.Global,
		Destructive: op.Destructive, Idempotent: op.Idempotent, ReadOnly: op.ReadOnly || op.Access == Read, Unaudited: op.Unaudited,
		Input: schemaOf[In](), Output: schemaOf[Out](),
		run: func(ctx context.Context, c *Call, raw json.RawMessage) (any, error) {
			in, err := decode[In](raw)
			if err != nil {
				return nil, err
			}
			return op.Run(ctx, c, in)
		},
	}
	if op.Destructive {
		o.preview = func(ctx context.Context, c *Call, raw json.RawMessage) (Preview, error) {
			in, err := decode[In](raw)
			if err != nil {
				return Preview{}, err
			}
			return op.Preview(ctx, c, in)
		}
	}
	return o, nil
}
