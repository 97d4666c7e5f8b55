package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/postbus/postbus/ops"
	opscli "github.com/postbus/postbus/ops/cli"
)

// newRoot makes the command of the program. environ is the environment, as os.Environ has it.
func newRoot(environ []string) (*cobra.Command, error) {
	root := opscli.Group("postbus", "An event bus in the Postgres that you already run")
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return opscli.Usage(err) })

	registry, err := ops.New(ops.Deps{}) // only asked what there is
	if err != nil {
		return nil, err
	}
	env := environment(environ)
	direct := &directly{env: env}
	root.AddCommand(opscli.Commands(registry, opscli.Config{OpenDatabase: direct.open, Getenv: env.get})...)
	root.AddCommand(newServe(env), newDev(env), newMigrate(env), newCapture(env), newMCP(env), newHealth(env), newLint(), newVersion())
	return root, nil
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "postbus", version())
			return err
		},
	}
}

// stamped is the version that scripts/build.sh has the linker write here.
var stamped string

// version is what was stamped, else what the module's build says.
func version() string {
	if stamped != "" {
		return stamped
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// noArgs refuses arguments beside the flags.
func noArgs(cmd *cobra.Command, args []string) error { return opscli.Usage(cobra.NoArgs(cmd, args)) }
