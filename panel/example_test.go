package panel_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/panel"
)

// An application mounts the panel behind its own login: AuthFunc says who asks and what they may do.
func ExampleAuthFunc() {
	var registry *ops.Registry // of the bus, by ops.New
	var live *panel.Live       // of the bus, by panel.NewLive

	staff := func(r *http.Request) (ops.Identity, bool) {
		name, password, ok := r.BasicAuth() // the application's own session, in its place
		return ops.Identity{Name: "staff:" + name, Scopes: []ops.Access{ops.Act}}, ok && password == "open sesame"
	}
	tasks, err := panel.New(panel.Config{Registry: registry, Auth: panel.AuthFunc(staff), Live: live})
	if err != nil {
		panic(err)
	}
	http.Handle("/admin/bus/", http.StripPrefix("/admin/bus", tasks)) // it works without StripPrefix as well
}

// A program prints a link that logs whoever started it in to a panel with a login of its own.
func ExampleLoginLink() {
	pool, done := testdb.ForExample()
	defer done()
	registry, err := ops.New(ops.Deps{Pool: pool})
	if err != nil {
		panic(err)
	}
	link, err := panel.LoginLink(context.Background(), registry, "demo")
	if err != nil {
		panic(err)
	}
	path, token, _ := strings.Cut(link, "=")
	fmt.Println(path, token[:4])
	// Output: login?link pbl_
}
