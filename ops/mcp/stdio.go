package opsmcp

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postbus/postbus/ops"
)

// RunStdio answers one client, who, over standard input and output until it closes them (nil) or ctx ends (its error). A line that
// is not JSON ends it with an error. Nothing else may write to standard output meanwhile.
func (s *Server) RunStdio(ctx context.Context, who ops.Identity) error {
	return s.run(ctx, who, &mcp.StdioTransport{})
}

func (s *Server) run(ctx context.Context, who ops.Identity, over mcp.Transport) error {
	return s.serve(func(*mcp.CallToolRequest) ops.Identity { return who }).Run(ctx, over)
}
