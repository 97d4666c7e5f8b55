package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/postbus/postbus/jobs/river"
	opscli "github.com/postbus/postbus/ops/cli"
	"github.com/postbus/postbus/pg"
)

// newMigrate is postbus migrate.
func newMigrate(env environment) *cobra.Command {
	group := opscli.Group("migrate", "Bring the tables up to date, or show what that takes")
	database := group.PersistentFlags().String("database-url", "", "the database (POSTBUS_DATABASE_URL)")
	on := func(do func(cmd *cobra.Command, pool *pgxpool.Pool) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, _ []string) error {
			address := *database
			if address == "" {
				address = env.get(envPrefix + "DATABASE_URL")
			}
			pool, err := newPool(address)
			if err != nil {
				return err
			}
			defer pool.Close()
			return do(cmd, pool)
		}
	}
	add := func(use, short string, run func(*cobra.Command, []string) error) {
		group.AddCommand(&cobra.Command{Use: use, Short: short, Args: noArgs, ValidArgsFunction: cobra.NoFileCompletions, RunE: run})
	}
	add("up", "Apply what is missing, Postbus's tables and the queue's", on(migrateUp))
	add("status", "Show which migrations the database has", on(func(cmd *cobra.Command, pool *pgxpool.Pool) error {
		return migrateStatus(cmd, pool)
	}))
	add("sql", "Print the SQL of Postbus's tables, for an empty database", func(cmd *cobra.Command, _ []string) error {
		return printSQL(cmd.OutOrStdout())
	})
	return group
}

func migrateUp(cmd *cobra.Command, pool *pgxpool.Pool) error {
	if err := pg.Migrate(cmd.Context(), pool, river.Migrator()); err != nil {
		if pg.IsUnavailable(err) {
			return unreachable(err)
		}
		return err
	}
	return migrateStatus(cmd, pool)
}

func migrateStatus(cmd *cobra.Command, pool *pgxpool.Pool) error {
	status, err := pg.ReadStatus(cmd.Context(), pool)
	if err != nil {
		return unreachable(err)
	}
	tw := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "VERSION\tNAME\tAPPLIED") // Flush has the error
	for _, m := range status.Applied {
		_, _ = fmt.Fprintf(tw, "%03d\t%s\t%s\n", m.Version, m.Name, m.AppliedAt.UTC().Format(time.RFC3339))
	}
	for _, m := range status.Pending {
		_, _ = fmt.Fprintf(tw, "%03d\t%s\tpending\n", m.Version, m.Name)
	}
	for _, m := range status.Unknown {
		_, _ = fmt.Fprintf(tw, "%03d\t%s\t%s (by a newer version)\n", m.Version, m.Name, m.AppliedAt.UTC().Format(time.RFC3339))
	}
	return tw.Flush()
}

// printSQL prints a script for those who apply the tables themselves.
func printSQL(w io.Writer) error {
	_, err := fmt.Fprint(w, "-- Postbus's tables, for an empty database: psql --single-transaction -v ON_ERROR_STOP=1.\n"+
		"-- The queue's tables, River's migrations, are made by `postbus migrate up` afterwards. It finds these done, and needs a\n"+
		"-- role that may create in the schema postbus.\n")
	if err == nil {
		_, err = io.WriteString(w, pg.Script())
	}
	return err
}
