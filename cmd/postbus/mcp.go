package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/postbus/postbus/ops"
	opscli "github.com/postbus/postbus/ops/cli"
	opsmcp "github.com/postbus/postbus/ops/mcp"
)

// newMCP is postbus mcp.
func newMCP(env environment) *cobra.Command {
	var address string
	var readOnly bool
	cmd := &cobra.Command{
		Use: "mcp", Short: "Offer the operations as MCP tools on the standard input and output", Args: noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if address == "" {
				address = env.get(envPrefix + "DATABASE_URL")
			}
			direct := directly{env: env}
			caller, end, err := direct.open(cmd.Context(), address)
			if err != nil {
				return err
			}
			defer end()
			d, ok := caller.(opscli.Direct)
			if !ok {
				return fmt.Errorf("%T holds no registry", caller)
			}
			log := newLog(os.Stderr, slog.LevelWarn)
			server := opsmcp.New(d.Registry, opsmcp.Config{Version: version(), ReadOnly: readOnly, Log: log})
			return server.RunStdio(cmd.Context(), ops.Local(userName()))
		},
	}
	cmd.Flags().StringVar(&address, "database-url", "", "the database (POSTBUS_DATABASE_URL)")
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "offer no tool that changes anything")
	return cmd
}
