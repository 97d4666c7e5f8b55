package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/postbus/postbus/internal/devpg"
	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/panel"
	"github.com/postbus/postbus/webhooks"
)

const (
	// devAccount is who the login link logs in.
	devAccount = "dev"
	devBanner  = `database  %s
panel     %s
log in    %s
          (once, within ten minutes; another: postbus accounts login-link --name ` + devAccount + `)
api       %s/api
mcp       %s/mcp
token     %s

Ctrl-C ends it.
`
)

// newDev is postbus dev.
func newDev(env environment) *cobra.Command {
	l := loader{env: env}
	var dir string
	cmd := &cobra.Command{
		Use: "dev", Short: "Run a private Postgres and serve on it, for trying out", Args: noArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := l.load(cmd.Flags())
			if err != nil {
				return err
			}
			return dev(cmd, cfg, dir)
		},
	}
	l.addFlags(cmd, "database_url", "listen_database_url", "skip_migrate")
	cmd.Flags().StringVar(&dir, "data", "", "folder that keeps the data; default: a temporary one that goes at the end")
	return cmd
}

func dev(cmd *cobra.Command, cfg settings, dir string) (err error) {
	config := devpg.Durable(dir)
	if dir == "" {
		config = devpg.ForTests()
	} else if config.Dir, err = filepath.Abs(filepath.Join(dir, "postgres")); err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	if len(cfg.webhookKeys) == 0 {
		key, err := devKey(dir)
		if err != nil {
			return err
		}
		cfg.webhookKeys = []string{key}
	}
	server, err := devpg.Start(cmd.Context(), config)
	if err != nil {
		return fmt.Errorf("start the private Postgres: %w", err)
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	cfg.databaseURL, cfg.listenURL, cfg.skipMigrate = server.URL(), "", false
	cfg.webhookAllow = append(cfg.webhookAllow, "localhost", "127.0.0.1", "::1")
	d := daemon{cfg: cfg, log: newLog(cmd.ErrOrStderr(), cfg.logLevel), out: cmd.OutOrStdout()}
	d.banner = func(ctx context.Context, registry *ops.Registry, url, token string) error {
		link, err := panel.LoginLink(ctx, registry, devAccount)
		if err != nil {
			return err
		}
		if token == "" {
			token = "(made before; another: postbus tokens create)"
		}
		_, err = fmt.Fprintf(d.out, devBanner, server.URL(), url+panelPath, url+panelPath+link, url, url, token)
		return err
	}
	return d.run(cmd.Context())
}

// devKey makes the key that seals webhooks' secrets, and keeps it beside data that are kept.
func devKey(dir string) (string, error) {
	if dir == "" {
		return webhooks.NewKey("dev")
	}
	path := filepath.Join(dir, "webhook.key")
	kept, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(kept)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("--data: %w", err)
	}
	key, err := webhooks.NewKey("dev")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("--data: %w", err)
	}
	if err := os.WriteFile(path, []byte(key+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("--data: %w", err)
	}
	return key, nil
}
