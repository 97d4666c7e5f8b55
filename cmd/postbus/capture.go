package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/ops"
	opscli "github.com/postbus/postbus/ops/cli"
)

// capture is what the commands of postbus capture share.
type capture struct {
	env      environment
	database string
	asJSON   bool
	dryRun   bool
}

// newCapture is postbus capture. It is no operation of a server: triggers are made by the table's owner.
func newCapture(env environment) *cobra.Command {
	c := &capture{env: env}
	group := opscli.Group("capture", "Record an event for every change of a table's rows, by triggers")
	group.PersistentFlags().StringVar(&c.database, "database-url", "", "the database, as the table's owner (POSTBUS_DATABASE_URL)")
	group.PersistentFlags().BoolVar(&c.asJSON, "json", false, "answer in JSON")
	group.AddCommand(c.add(), c.list(), c.remove())
	return group
}

func (c *capture) add() *cobra.Command {
	var given events.Capture
	var types, on []string
	cmd := &cobra.Command{
		Use: "add TABLE", Short: "Install a capture on a table, or change it", Args: oneArg("TABLE"), ValidArgsFunction: cobra.NoFileCompletions,
		Long: "Install a capture on a table, or change it. Expressions are SQL over the rows new, old and it (the new row, or the\n" +
			"deleted one); what is not in pg_catalog is written with its schema. Whoever writes the table must be allowed to record:\n" +
			"grant postbus_writer to ROLE.",
		Example: "  postbus capture add notes --type note.changed --watch title,body --owner it.user_id\n" +
			"  postbus capture add public.orders --type insert=order.placed,delete=order.withdrawn --owner \"'shop'\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			given.Table = args[0]
			if err := readTypes(&given, types, on); err != nil {
				return err
			}
			return c.on(cmd, func(ctx context.Context, pool *pgxpool.Pool) error {
				did, err := events.InstallCapture(ctx, pool, given, c.dryRun)
				if err != nil {
					return err
				}
				return c.tell(cmd.OutOrStdout(), did)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&types, "type", nil, "declared event type; OPERATION=TYPE gives an operation its own")
	flags.StringSliceVar(&on, "on", nil, "operations: insert, update, delete (default all, or those that --type names)")
	flags.StringSliceVar(&given.Watch, "watch", nil, "columns whose change makes an update count (default all)")
	flags.StringVar(&given.Owner, "owner", "", "expression for whose event it is (default it.owner_id where there is that column)")
	flags.StringVar(&given.Subject, "subject", "", "expression for what it is about (default the primary key)")
	flags.StringVar(&given.Data, "data", "", "expression for its JSON (default the operation and the primary key)")
	flags.StringVar(&given.Name, "name", "", "the capture's name (default the table's)")
	flags.BoolVar(&c.dryRun, "dry-run", false, "print the SQL and change nothing")
	return cmd
}

// readTypes reads --type and --on.
func readTypes(into *events.Capture, types, on []string) error {
	if len(types) == 0 {
		return opscli.Usage(errors.New("say which event type: --type note.changed"))
	}
	for _, text := range types {
		op, name, own := strings.Cut(text, "=")
		switch {
		case own && into.Types == nil:
			into.Types = map[events.Op]string{events.Op(op): name}
		case own:
			into.Types[events.Op(op)] = name
		case into.Type != "":
			return opscli.Usage(fmt.Errorf("--type: %s and %s are both for all operations: choose one", into.Type, text))
		default:
			into.Type = text
		}
	}
	for _, op := range on {
		into.On = append(into.On, events.Op(op))
	}
	if into.Type == "" && len(on) == 0 {
		into.On = slices.Sorted(maps.Keys(into.Types))
	}
	return nil
}

func (c *capture) list() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List what captures are installed, by whomever", Args: noArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.on(cmd, func(ctx context.Context, pool *pgxpool.Pool) error {
				all, err := events.Captures(ctx, pool)
				if err != nil {
					return err
				}
				if c.asJSON {
					return printJSON(cmd.OutOrStdout(), map[string]any{"items": all})
				}
				return listCaptures(cmd.OutOrStdout(), all)
			})
		},
	}
}

func (c *capture) remove() *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use: "remove NAME", Short: "Take a capture away that was installed here", Args: oneArg("NAME"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.on(cmd, func(ctx context.Context, pool *pgxpool.Pool) error {
				did, err := events.RemoveCapture(ctx, pool, args[0], !yes)
				if err != nil {
					return err
				}
				c.dryRun = !yes
				if err := c.tell(cmd.OutOrStdout(), did); err != nil || yes {
					return err
				}
				return &ops.Error{Code: ops.Conflict, Message: "refused: add --yes"}
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do it, instead of showing what would be done")
	return cmd
}

// on does something on a migrated database, and tells failures as the other commands do.
func (c *capture) on(cmd *cobra.Command, do func(context.Context, *pgxpool.Pool) error) error {
	address := c.database
	if address == "" {
		address = c.env.get(envPrefix + "DATABASE_URL")
	}
	pool, err := newPool(address)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := migrated(cmd.Context(), pool); err != nil {
		return err
	}
	return captureFailed(do(cmd.Context(), pool))
}

// oneArg wants one argument.
func oneArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return opscli.Usage(fmt.Errorf("%s takes one argument, %s", cmd.CommandPath(), name))
	}
}
