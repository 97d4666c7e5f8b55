package main

import (
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// newServe is postbus serve.
func newServe(env environment) *cobra.Command {
	l := loader{env: env}
	printConfig := false
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the bus and its HTTP API until SIGTERM", Args: noArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := l.load(cmd.Flags())
			if err != nil {
				return err
			}
			if printConfig {
				return show(cmd.OutOrStdout(), cfg, l.sources)
			}
			d := daemon{cfg: cfg, log: newLog(cmd.ErrOrStderr(), cfg.logLevel), out: cmd.OutOrStdout()}
			return d.run(cmd.Context())
		},
	}
	l.addFlags(cmd)
	cmd.Flags().BoolVar(&printConfig, "print-config", false, "print the settings with where each is from, secrets masked, and end")
	return cmd
}

func newLog(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// show prints settings without secrets.
func show(w io.Writer, cfg settings, sources map[string]source) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "KEY\tFROM\tVALUE") // Flush has the error
	for _, s := range keys() {
		value := s.show(cfg)
		if value == "" {
			value = "-"
		}
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\n", s.key, sources[s.key], value)
	}
	return tw.Flush()
}
