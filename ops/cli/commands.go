package opscli

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/postbus/postbus/ops"
)

// Config is what the commands need of the program around them.
type Config struct {
	// OpenDatabase answers a caller straight on the database at url, and how to end it. Defaults to none: servers only.
	OpenDatabase func(ctx context.Context, url string) (caller Caller, end func(), err error)
	// Getenv reads the environment. Defaults to os.Getenv.
	Getenv func(name string) string
}

// Commands makes one command for each room of the registry, with a subcommand for each operation. The registry is only asked
// what there is: it needs no database.
func Commands(registry *ops.Registry, cfg Config) []*cobra.Command {
	if cfg.Getenv == nil {
		cfg.Getenv = os.Getenv
	}
	var rooms []*cobra.Command
	byName := map[string]*room{}
	for _, o := range registry.All() {
		name, _, _ := strings.Cut(o.Name, ".")
		r, ok := byName[name]
		if !ok {
			r = newRoom(name, cfg)
			byName[name] = r
			rooms = append(rooms, r.cmd)
		}
		r.add(o)
	}
	return rooms
}

// room is the command of a room.
type room struct {
	cmd    *cobra.Command
	cfg    Config
	target target
	format format
	yes    bool
}

func newRoom(name string, cfg Config) *room {
	r := &room{cfg: cfg, format: "table", cmd: Group(name, "Operations on "+name)}
	r.target.addFlags(r.cmd)
	r.cmd.PersistentFlags().VarP(&r.format, "output", "o", "how to print the answer: table, json or jsonl")
	_ = r.cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats(), cobra.ShellCompDirectiveNoFileComp))
	r.cmd.PersistentFlags().BoolVar(&r.yes, "yes", false, "do what cannot be undone, instead of showing what would be done")
	return r
}

// Group is a command that only holds others.
func Group(name, short string) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Args: cobra.ArbitraryArgs}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("there is no command %q; %s --help lists what there is", cmd.CommandPath()+" "+args[0], cmd.CommandPath())
		}
		cmd.SetOut(cmd.ErrOrStderr())
		_ = cmd.Help()
		return usagef("say what to do")
	}
	return cmd
}

func (r *room) add(o *ops.Operation) {
	_, verb, _ := strings.Cut(o.Name, ".")
	in := &input{op: o}
	cmd := &cobra.Command{Use: strings.ReplaceAll(verb, "_", "-"), Short: o.Summary, ValidArgsFunction: cobra.NoFileCompletions}
	if in.takesID() {
		cmd.Use += " [ID]"
	}
	cmd.Args = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) > 0 && !in.takesID():
			return usagef("%q is one argument too many: %s takes flags only", args[0], cmd.CommandPath())
		case len(args) > 1:
			return usagef("%q is one argument too many: %s takes one id", args[1], cmd.CommandPath())
		}
		return nil
	}
	in.addFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return r.run(cmd, in, args) }
	r.cmd.AddCommand(cmd)
}

func (r *room) run(cmd *cobra.Command, in *input, args []string) error {
	raw, err := in.json(cmd, args)
	if err != nil {
		return err
	}
	caller, end, err := r.target.connect(cmd.Context(), r.cfg)
	if err != nil {
		return err
	}
	defer end()
	p := printer{format: r.format, out: cmd.OutOrStdout(), hints: cmd.ErrOrStderr()}
	answer, err := caller.Call(cmd.Context(), in.op, raw, "")
	if err == nil && answer.DryRun != nil {
		if !r.yes {
			return p.dryRun(answer.DryRun)
		}
		answer, err = caller.Call(cmd.Context(), in.op, raw, answer.DryRun.Confirm)
	}
	if err != nil {
		return err
	}
	return p.answer(answer.Output)
}
