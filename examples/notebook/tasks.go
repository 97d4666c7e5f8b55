package main

import (
	"net/http"

	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/panel"
)

// tasksAccount is who the login link logs in to the Tasks panel.
const tasksAccount = "demo"

// tasks is the Tasks panel on the notebook's bus, served beside its pages.
type tasks struct {
	registry *ops.Registry
	live     *panel.Live
	panel    http.Handler
}

// openTasks makes it. It is live once live is started.
func (a *app) openTasks() (*tasks, error) {
	registry, err := ops.New(ops.Deps{
		Pool: a.pool, Events: a.bus.Events(), Runtime: a.bus.Runtime(), Webhooks: a.bus.Webhooks(), Work: a.bus.Work(), Alerts: a.bus.Alerts,
		Listener: a.bus.Listening, Log: a.log,
	})
	if err != nil {
		return nil, err
	}
	t := &tasks{registry: registry, live: panel.NewLive(panel.LiveConfig{
		Pool: a.pool, Inspector: a.bus.Inspector(), Listener: a.bus.Listener(), Alerts: a.bus.Alerts, Log: a.log,
	})}
	t.panel, err = panel.New(panel.Config{
		Registry: registry, Auth: panel.NewSessions(a.pool, ops.NewAuthenticator(a.pool, a.log), a.log), Live: t.live, Log: a.log,
	})
	return t, err
}
