package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/postbus/postbus/lint"
	opscli "github.com/postbus/postbus/ops/cli"
)

// newLint is postbus lint. It reads files and asks nobody.
func newLint() *cobra.Command {
	var rules []string
	var output string
	var long []string
	for _, rule := range lint.Rules() {
		long = append(long, fmt.Sprintf("  %-9s %s", rule[0], rule[1]))
	}
	cmd := &cobra.Command{
		Use: "lint [DIR]", Short: "Check that side effects of a repository stay behind the bus",
		Long: "Check a folder, and what lies below it, against these rules. It ends with 0 where they are kept, with 1 where one is\n" +
			"broken and with 2 where it could not look.\n\n" + strings.Join(long, "\n"),
		Args: func(cmd *cobra.Command, args []string) error { return opscli.Usage(cobra.MaximumNArgs(1)(cmd, args)) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return opscli.Usage(fmt.Errorf("output %q: say text or json", output))
			}
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			found, err := lint.Dir(dir, rules...)
			if err != nil {
				return opscli.Usage(err)
			}
			return tellFound(cmd, found, output == "json")
		},
	}
	cmd.Flags().StringSliceVar(&rules, "rule", nil, "only these rules")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "how to print the findings: text or json")
	return cmd
}

func tellFound(cmd *cobra.Command, found []lint.Finding, asJSON bool) error {
	if asJSON {
		items := append([]lint.Finding{}, found...)
		if err := json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"items": items}); err != nil {
			return err
		}
	} else {
		for _, f := range found {
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), f); err != nil {
				return err
			}
		}
	}
	if len(found) > 0 {
		return fmt.Errorf("%d findings", len(found))
	}
	return nil
}
