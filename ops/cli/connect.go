package opscli

import (
	"context"

	"github.com/spf13/cobra"
)

// target is where operations run.
type target struct{ server, token, database string }

func (t *target) addFlags(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&t.server, "server", "", "call the server at this URL (POSTBUS_SERVER)")
	flags.StringVar(&t.token, "token", "", "token for the server; others on this machine see it here: better in POSTBUS_TOKEN")
	flags.StringVar(&t.database, "database-url", "", "work straight on this database (POSTBUS_DATABASE_URL)")
}

// connect answers a caller and its end. A flag goes before the environment, there a server before a database.
func (t *target) connect(ctx context.Context, cfg Config) (Caller, func(), error) {
	server, database := t.server, t.database
	switch {
	case server != "" && database != "":
		return nil, nil, usagef("--server and --database-url are both given: choose one")
	case server == "" && database == "":
		if server = cfg.Getenv("POSTBUS_SERVER"); server == "" {
			database = cfg.Getenv("POSTBUS_DATABASE_URL")
		}
	}
	switch {
	case server != "":
		token := t.token
		if token == "" {
			token = cfg.Getenv("POSTBUS_TOKEN")
		}
		client, err := NewClient(server, token)
		return client, func() {}, err
	case database != "" && cfg.OpenDatabase != nil:
		return cfg.OpenDatabase(ctx, database)
	}
	return nil, nil, usagef("say where: --server URL with a token in POSTBUS_TOKEN, or --database-url URL " +
		"(POSTBUS_SERVER and POSTBUS_DATABASE_URL do as well)")
}
