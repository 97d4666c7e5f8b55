package opscli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/postbus/postbus/ops"
)

func registry(t *testing.T) *ops.Registry {
	t.Helper()
	r, err := ops.New(ops.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func root(t *testing.T, cfg Config) *cobra.Command {
	t.Helper()
	cmd := Group("postbus", "")
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.AddCommand(Commands(registry(t), cfg)...)
	return cmd
}

// An operation that is declared has a command, and each property of its input a flag of that property's kind.
func TestEveryOperationHasItsCommand(t *testing.T) {
	t.Parallel()
	r, top := registry(t), root(t, Config{})
	if len(r.All()) < 10 {
		t.Fatalf("the registry has %d operations only", len(r.All()))
	}
	for _, o := range r.All() {
		path := strings.Split(strings.ReplaceAll(o.Name, "_", "-"), ".")
		path[0], _, _ = strings.Cut(o.Name, ".")
		cmd, rest, err := top.Find(path)
		if err != nil || len(rest) > 0 || cmd == top {
			t.Errorf("%s has no command: %v, %v left over", o.Name, err, rest)
			continue
		}
		if cmd.Short != o.Summary {
			t.Errorf("%s: help says %q, the operation %q", o.Name, cmd.Short, o.Summary)
		}
		for name, schema := range o.Input.Properties {
			flag := cmd.Flags().Lookup(flagOf(name))
			if flag == nil || flag.Value.Type() != kindOf(schema) {
				t.Errorf("%s: the property %q has the flag %v, want one of kind %q", o.Name, name, flag, kindOf(schema))
			}
		}
		if o.Destructive && cmd.InheritedFlags().Lookup("yes") == nil {
			t.Errorf("%s is destructive and has no --yes", o.Name)
		}
	}
}

// No two properties of an operation share a flag, and none takes one of the house's.
func TestFlagsAreDistinct(t *testing.T) {
	t.Parallel()
	for _, o := range registry(t).All() {
		seen := map[string]string{}
		for name := range o.Input.Properties {
			for _, flag := range []string{flagOf(name), singular(o, name)} {
				if other, taken := seen[flag]; taken && flag != "" {
					t.Errorf("%s: %q and %q share the flag --%s", o.Name, name, other, flag)
				}
				seen[flag] = name
			}
		}
		for _, house := range houseFlags {
			if property, taken := seen[house]; taken {
				t.Errorf("%s: %q takes the flag --%s", o.Name, property, house)
			}
		}
	}
}
