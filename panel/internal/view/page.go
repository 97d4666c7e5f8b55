package view

import (
	"net/url"

	"github.com/a-h/templ"

	"github.com/postbus/postbus/ops"
)

// Page is what every page has around its content.
type Page struct {
	// Title is the view's name, Here the name of its route, by which the navigation marks it.
	Title, Here string
	// Who looks at it. The zero Identity sees the page without navigation.
	Who ops.Identity
	// Version is the program's.
	Version string
	// LogsOut is whether the panel has a login of its own, and so a way out.
	LogsOut bool
	// Alerts is how many things a person should see to.
	Alerts int
}

// May says whether the person may make calls of the access: buttons for others are not shown.
func (p Page) May(access ops.Access) bool { return p.Who.May(access) }

// Everything says that the person is bound to no owner.
func (p Page) Everything() bool { return p.Who.Owner == "" }

// link is a route with its query, relative to any page of the panel.
func link(route string, query url.Values) templ.SafeURL {
	if len(query) == 0 {
		return templ.SafeURL(route) // #nosec: routes are ours
	}
	return templ.SafeURL(route + "?" + query.Encode())
}

// Q makes a query of names and values in turn; values that are "" are left out.
func Q(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Add(pairs[i], pairs[i+1])
		}
	}
	return query
}

// with is the query with one name set, or taken out for "". Anything that pages is taken out too: it belongs to the list before.
func with(query url.Values, name, value string) url.Values {
	out := url.Values{}
	for key, values := range query {
		if key != name && key != "cursor" {
			out[key] = values
		}
	}
	if value != "" {
		out.Set(name, value)
	}
	return out
}

// entry is one line of the navigation.
type entry struct {
	route, title, icon string
	// global entries are for those who are bound to no owner.
	global bool
	admin  bool
}

func entries() []entry {
	return []entry{
		{route: "overview", title: "Overview", icon: "overview", global: true},
		{route: "jobs", title: "Jobs", icon: "jobs"},
		{route: "periodics", title: "Periodic", icon: "clock", global: true},
		{route: "queues", title: "Queues", icon: "queues", global: true},
		{route: "events", title: "Events", icon: "events"},
		{route: "webhooks", title: "Webhooks", icon: "webhooks"},
		{route: "mail", title: "Mail", icon: "mail"},
		{route: "workers", title: "Workers", icon: "workers", global: true},
		{route: "audit", title: "Audit", icon: "audit"},
		{route: "settings", title: "Settings", icon: "settings", global: true, admin: true},
		{route: "system", title: "System", icon: "system", global: true},
	}
}

func (e entry) shown(p Page) bool {
	return (!e.global || p.Everything()) && (!e.admin || p.May(ops.Admin))
}
