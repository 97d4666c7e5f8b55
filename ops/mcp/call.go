package opsmcp

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postbus/postbus/ops"
)

// handler calls the tool's operation for whom who says.
func (s *Server) handler(t tool, who caller) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		out, err := s.call(ctx, t.op, who(req), req.Params.Arguments)
		if err != nil {
			return failed(ops.Explain(err)), nil
		}
		return succeeded(out)
	}
}

// call answers what the tool answers. The library runs handlers on goroutines of its own, where nobody else would catch a panic.
func (s *Server) call(ctx context.Context, o *ops.Operation, who ops.Identity, raw json.RawMessage) (out any, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			s.cfg.Log.ErrorContext(ctx, "operation panicked", "operation", o.Name, "who", who.Name, "face", ops.MCP, "panic", fault,
				"stack", string(debug.Stack()))
			out, err = nil, fmt.Errorf("%s panicked: %v", o.Name, fault)
		}
	}()
	input, token, err := arguments(o, raw)
	if err != nil {
		return nil, err
	}
	got, err := s.reg.Do(ctx, ops.Request{Operation: o.Name, Who: who, Face: ops.MCP, Input: input, Confirm: token})
	switch {
	case err != nil:
		return nil, err
	case o.Destructive:
		return answer{DryRun: got.DryRun, Output: got.Output}, nil
	}
	return got.Output, nil
}

func succeeded(out any) (*mcp.CallToolResult, error) {
	text, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: string(text)}},
		StructuredContent: json.RawMessage(text),
	}, nil
}

// failed is text only: clients hold structured content against the output schema, which says nothing of errors.
func failed(told *ops.Error) *mcp.CallToolResult {
	text, err := json.Marshal(told)
	if err != nil {
		text = []byte(told.Error())
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}
}
