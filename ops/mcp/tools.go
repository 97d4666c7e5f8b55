package opsmcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postbus/postbus/ops"
)

// confirm is the property in which a destructive tool takes the token of its dry run.
const confirm = "confirm"

// maxConfirm is how long a token may be, in bytes; those given out have 54.
const maxConfirm = 100

// pagesDoc says what page and maxPage are.
var pagesDoc = fmt.Sprintf("How many entries; %d when left out, and never more than %d", page, maxPage)

// tool is an operation and how it is shown.
type tool struct {
	op    *ops.Operation
	shown *mcp.Tool
}

func toolOf(o *ops.Operation) tool {
	input, output := o.Input, o.Output
	if o.Destructive {
		input, output = withConfirm(o.Input), orDryRun(o.Output)
	}
	if isList(o) {
		input = withPages(input)
	}
	closed := false
	return tool{op: o, shown: &mcp.Tool{
		Name:         strings.ReplaceAll(o.Name, ".", "_"),
		Description:  o.Summary,
		InputSchema:  written(input),
		OutputSchema: written(output),
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint:    !o.Writes(),
			DestructiveHint: &o.Destructive,
			IdempotentHint:  o.Idempotent || !o.Writes(),
			OpenWorldHint:   &closed,
		},
	}}
}

// written is the schema as JSON, so that it is written once and not for each list of the tools. One that cannot be written stays,
// for the library to say what is wrong with it.
func written(schema *huma.Schema) any {
	raw, err := json.Marshal(schema)
	if err != nil {
		return schema
	}
	return json.RawMessage(raw)
}

// withConfirm is the input of a destructive tool.
func withConfirm(input *huma.Schema) *huma.Schema {
	limit := maxConfirm
	out := *input
	out.Properties = maps.Clone(input.Properties)
	if out.Properties == nil {
		out.Properties = map[string]*huma.Schema{}
	}
	out.Properties[confirm] = &huma.Schema{
		Type: huma.TypeString, MaxLength: &limit,
		Description: "The token of the dry run; without it nothing is done and the answer is a dry run",
	}
	return &out
}

// withPages is the input of a list, which says how long this face's pages are.
func withPages(input *huma.Schema) *huma.Schema {
	out, limit := *input, *input.Properties["limit"]
	limit.Description = pagesDoc
	out.Properties = maps.Clone(input.Properties)
	out.Properties["limit"] = &limit
	return &out
}

// answer is what a destructive tool answers: one of the two.
type answer struct {
	DryRun *ops.DryRun `json:"dry_run,omitempty"`
	Output any         `json:"output,omitempty"`
}

// orDryRun is the output schema of a destructive tool. It says with two optional properties what is one of two, for clients
// that know no oneOf.
func orDryRun(output *huma.Schema) *huma.Schema {
	registry := huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)
	dryRun := *huma.SchemaFromType(registry, reflect.TypeFor[ops.DryRun]())
	dryRun.Description = "What would be done; nothing was"
	return &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: false,
		Properties: map[string]*huma.Schema{"dry_run": &dryRun, "output": output},
	}
}
