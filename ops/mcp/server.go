package opsmcp

import (
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postbus/postbus/ops"
)

// Config says how the server presents itself.
type Config struct {
	// Name and Version are what clients are told. Name defaults to "postbus", Version to "dev".
	Name, Version string
	// ReadOnly leaves out every operation that writes.
	ReadOnly bool
	// Log gets what callers are not told. Defaults to slog.Default().
	Log *slog.Logger
}

// Server is a registry as MCP tools.
type Server struct {
	reg   *ops.Registry
	cfg   Config
	tools []tool
}

// New makes the tools of reg.
func New(reg *ops.Registry, cfg Config) *Server {
	if cfg.Name == "" {
		cfg.Name = "postbus"
	}
	if cfg.Version == "" {
		cfg.Version = "dev"
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	s := &Server{reg: reg, cfg: cfg}
	for _, o := range reg.All() {
		if !cfg.ReadOnly || !o.Writes() {
			s.tools = append(s.tools, toolOf(o))
		}
	}
	return s
}

const instructions = "Lists answer pages: 20 entries unless limit says otherwise, at most 50; call again with next as cursor for more. " +
	"A tool that destroys first answers dry_run: what it would do and a token. Call it again with the same input and the token as confirm " +
	"to do it. Ids are strings, times are RFC 3339."

// caller says who makes a call.
type caller func(*mcp.CallToolRequest) ops.Identity

// serve makes a server of the library's whose calls are made for who says.
func (s *Server) serve(who caller) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: s.cfg.Name, Version: s.cfg.Version}, &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	for _, t := range s.tools {
		server.AddTool(t.shown, s.handler(t, who))
	}
	return server
}
