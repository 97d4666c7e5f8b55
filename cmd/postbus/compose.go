package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/mail"
	"github.com/postbus/postbus/ops"
	opscli "github.com/postbus/postbus/ops/cli"
	"github.com/postbus/postbus/webhooks"
)

const (
	// app is the name under which the program declares.
	app = "postbus"
	// conns is the size of the pool where the address does not say another.
	conns = 16
	// connectWithin is how long one attempt to connect may take where the address does not say.
	connectWithin = 5 * time.Second
	// jobsMayTake is how long jobs that run may go on after a SIGTERM.
	jobsMayTake = 10 * time.Second
)

// newPool makes a pool that connects when it is first used.
func newPool(address string) (*pgxpool.Pool, error) {
	if address == "" {
		return nil, opscli.Usage(errors.New("say which database: --database-url or POSTBUS_DATABASE_URL"))
	}
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, opscli.Usage(fmt.Errorf("--database-url: %w", err)) // pgx takes the password out
	}
	if !strings.Contains(address, "pool_max_conns") {
		config.MaxConns = conns
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectWithin
	}
	pool, err := pgxpool.NewWithConfig(background(), config)
	if err != nil {
		return nil, fmt.Errorf("make the pool: %w", err)
	}
	return pool, nil
}

// compose makes a bus that does not run yet and the operations on it.
func compose(pool *pgxpool.Pool, cfg settings, log *slog.Logger) (*postbus.Bus, *ops.Registry, error) {
	busConfig := postbus.Config{
		App: app, Version: version(), AlertOwner: cfg.alertOwner, Retention: cfg.retention, SkipMigrate: cfg.skipMigrate, StopGrace: jobsMayTake, Log: log,
		Tracer: cfg.tracer, Meter: cfg.meter,
	}
	if cfg.listenURL != "" {
		conn, err := pgx.ParseConfig(cfg.listenURL)
		if err != nil {
			return nil, nil, opscli.Usage(fmt.Errorf("--listen-database-url: %w", err))
		}
		busConfig.ListenConn = conn
	}
	hooksConfig := webhooks.Config{Keys: cfg.webhookKeys, Allow: cfg.webhookAllow, HTTPSOnly: cfg.webhookHTTPSOnly, Log: log}
	if len(cfg.webhookKeys) > 0 {
		busConfig.Webhooks = &hooksConfig
	}
	mailConfig := cfg.mail.config()
	mailConfig.Log = log
	if cfg.mail.on {
		busConfig.Mail = &mailConfig
	}
	bus, err := postbus.New(pool, busConfig)
	if err != nil {
		return nil, nil, opscli.Usage(err)
	}
	runtime := bus.Runtime()
	hooks := bus.Webhooks()
	if hooks == nil { // nothing is sent; what there is can be seen all the same
		if hooks, err = webhooks.New(pool, hooksConfig); err != nil {
			return nil, nil, opscli.Usage(err)
		}
		hooks.Bind(bus.Events(), runtime)
	}
	mails := bus.Mail()
	if mails == nil { // nothing is sent here, but rules can be seen and changed
		if mails, err = mail.New(pool, mailConfig); err != nil {
			return nil, nil, opscli.Usage(err)
		}
		mails.Bind(bus.Events(), runtime)
	}
	registry, err := ops.New(ops.Deps{
		Pool: pool, Events: bus.Events(), Runtime: runtime, Webhooks: hooks, Mail: mails, Work: bus.Work(), Alerts: bus.Alerts, Listener: bus.Listening, Version: version(), Log: log,
	})
	return bus, registry, err
}
