package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/postbus/postbus/examples/notebook/building"
	"github.com/postbus/postbus/examples/notebook/console"
	"github.com/postbus/postbus/examples/notebook/importer"
	"github.com/postbus/postbus/examples/notebook/indexing"
	"github.com/postbus/postbus/examples/notebook/mailing"
	"github.com/postbus/postbus/examples/notebook/web"
	"github.com/postbus/postbus/panel"
)

// skipsShown is how many skipped files are named.
const skipsShown = 20

// demo is notebook demo.
func demo(ctx context.Context, o demoOptions, out io.Writer, log *slog.Logger) error {
	out = &oneAtATime{out: out} // the receiver's lines come in between
	if o.once {
		return once(ctx, o, out, log)
	}
	ln, err := listen(o.listen)
	if err != nil {
		return err
	}
	defer ln.Close() // the server has closed it already, unless it never began
	a, err := openApp(ctx, o, out, log)
	if err != nil {
		return err
	}
	defer a.close()
	watch := console.New(a.bus, func(l console.Line) { fmt.Fprintln(out, l) }, log)
	watch.Start(ctx)
	defer watch.Stop()

	tasks, err := a.openTasks()
	if err != nil {
		return err
	}
	site := &web.Server{
		Notes: a.notes, Search: a.search, Console: watch, Owner: owner, Log: log, Stopping: ctx, Publisher: a.publisher, Panel: tasks.panel,
		Mailer:   &mailing.Mailer{Pool: a.pool, Notes: a.notes, Bus: a.bus, Owner: owner},
		Builds:   &building.Waiter{Notes: a.notes, Listener: a.bus.Listener()},
		Receipts: indexing.Receipts{Wait: o.receiptWait, Bus: a.bus, Search: a.search},
	}
	pages, err := site.Handler()
	if err != nil {
		return err
	}
	login, err := panel.LoginLink(ctx, tasks.registry, tasksAccount)
	if err != nil {
		return err
	}
	s := serve(ln, pages, log)
	defer s.stop()
	tasks.live.Start(ctx)
	defer tasks.live.Stop() // before the server, which its streams would hold
	a.announce(out, s.url())
	fmt.Fprintf(out, "panel     %s%s%s  (logs you in, once, within ten minutes)\n", s.url(), web.PanelPath, login)
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		fmt.Fprintf(out, "beware    there are no accounts: whoever reaches %s can read and change every note\n", s.addr)
	}
	if err := a.importFolder(ctx, out); err != nil {
		return err
	}
	<-ctx.Done()
	fmt.Fprintln(out, "stopping")
	return nil
}

// announce says where everything is.
func (a *app) announce(out io.Writer, pages string) {
	if a.lock != nil {
		a.lock.say(a.joinFlags())
		fmt.Fprintf(out, "data      %s\n", a.opts.data)
	}
	if a.private != nil {
		fmt.Fprintf(out, "database  %s\n", a.private.URL())
	}
	fmt.Fprintf(out, "search    %s\n", a.search.URL())
	if pages == "" {
		return
	}
	fmt.Fprintf(out, "share     notebook demo --listen 127.0.0.1:0 %s\n", a.joinFlags())
	fmt.Fprintf(out, "notebook  %s  (Ctrl-C ends it, the notes stay)\n", pages)
}

// importFolder brings in the folder of --import, if there is one, and says what became of its files.
func (a *app) importFolder(ctx context.Context, out io.Writer) error {
	if a.opts.importDir == "" {
		return nil
	}
	report, err := importer.Importer{Notes: a.notes, Owner: owner, Publish: a.opts.publish}.Folder(ctx, a.opts.importDir)
	for i, skip := range report.Skipped {
		if i == skipsShown {
			fmt.Fprintf(out, "skipped   … and %d more\n", len(report.Skipped)-skipsShown)
			break
		}
		fmt.Fprintf(out, "skipped   %q: %s\n", skip.Path, skip.Why)
	}
	if err != nil {
		return fmt.Errorf("import %s: %w", a.opts.importDir, err)
	}
	fmt.Fprintf(out, "import    %s\n", report)
	return nil
}
