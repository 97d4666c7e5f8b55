package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/postbus/postbus/examples/notebook/importer"
	"github.com/postbus/postbus/examples/notebook/search"
)

// demoOptions are the flags of notebook demo.
type demoOptions struct {
	once, verbose bool
	importDir     string
	listen        string
	data          string
	databaseURL   string
	searchURL     string
	timeout       time.Duration
	receiptWait   time.Duration
	publish       bool
	receiverURL   string
	builder       bool
}

// searchOptions are the flags of notebook search.
type searchOptions struct {
	listen, data string
	verbose      bool
}

// receiveOptions are the flags of notebook receive.
type receiveOptions struct {
	listen, data       string
	secretFile, secret string
	quiet, withParent  bool
	verbose            bool
}

func parseDemo(args []string, errs io.Writer) (demoOptions, error) {
	var o demoOptions
	fs := newFlags("demo", errs)
	fs.BoolVar(&o.once, "once", false, "import, wait until every note is indexed and every webhook delivered, check each, print the counts and end")
	fs.StringVar(&o.importDir, "import", "", "a folder of Markdown files to bring in as notes")
	fs.BoolVar(&o.publish, "publish", true, "publish the notes that --import makes; --publish=false keeps them private")
	fs.StringVar(&o.listen, "listen", "127.0.0.1:8080", "where the pages are; port 0 takes a free one")
	fs.StringVar(&o.data, "data", "", "where the private Postgres, the search index and the webhooks' key and secret are kept (default "+defaultData()+")")
	fs.StringVar(&o.databaseURL, "database-url", "", "an existing database, in place of the private Postgres")
	fs.StringVar(&o.searchURL, "search-url", "", "a search service that runs already, in place of one in this process")
	fs.StringVar(&o.receiverURL, "receiver-url", "", "a receiver of webhooks that runs already, in place of one as a child process")
	fs.BoolVar(&o.builder, "builder", true, "run a builder of the site, a Node program, as a child process; its jobs wait for one otherwise")
	fs.DurationVar(&o.timeout, "timeout", 5*time.Minute, "with --once: how long to wait for the index and the webhooks")
	fs.DurationVar(&o.receiptWait, "receipt-wait", 2*time.Second, "how long a write waits to hear that it is indexed")
	fs.BoolVar(&o.verbose, "verbose", false, "log what the bus does")
	if err := parse(fs, args); err != nil {
		return o, err
	}
	if o.data == "" {
		o.data = defaultData()
	}
	if abs, err := filepath.Abs(o.data); err == nil { // others are told of it
		o.data = abs
	}
	return o, o.check()
}

func (o demoOptions) check() error {
	if o.timeout <= 0 || o.receiptWait <= 0 {
		return usageError{fmt.Errorf("--timeout is %s and --receipt-wait %s; use more than 0", o.timeout, o.receiptWait)}
	}
	if o.searchURL != "" {
		if _, err := search.NewClient(o.searchURL); err != nil {
			return usageError{fmt.Errorf("--search-url: %w", err)}
		}
	}
	if o.receiverURL != "" {
		if _, err := search.NewClient(o.receiverURL); err != nil {
			return usageError{fmt.Errorf("--receiver-url: %w", err)}
		}
	}
	if o.importDir != "" {
		return importer.Check(o.importDir)
	}
	return nil
}

func parseSearch(args []string, errs io.Writer) (searchOptions, error) {
	var o searchOptions
	fs := newFlags("search", errs)
	fs.StringVar(&o.listen, "listen", "", "where to serve, such as 127.0.0.1:8081 (needed)")
	fs.StringVar(&o.data, "data", "", "the folder of the index (needed)")
	fs.BoolVar(&o.verbose, "verbose", false, "log more")
	if err := parse(fs, args); err != nil {
		return o, err
	}
	if o.listen == "" || o.data == "" {
		return o, usageError{errors.New("search needs --listen ADDR and --data DIR")}
	}
	return o, nil
}

func parseReceive(args []string, errs io.Writer) (receiveOptions, error) {
	var o receiveOptions
	fs := newFlags("receive", errs)
	fs.StringVar(&o.listen, "listen", "", "where to take webhooks, such as 127.0.0.1:8090 (needed); GET /received says what came")
	fs.StringVar(&o.secretFile, "secret-file", "", "a file with the endpoint's secret that nobody else may read")
	fs.StringVar(&o.secret, "secret", "", "the secret itself, \"whsec_…\"; others see it in the list of processes")
	fs.StringVar(&o.data, "data", "", "the folder of "+receivedFile+", what was received (default "+filepath.Join(defaultData(), "receiver")+")")
	fs.BoolVar(&o.quiet, "quiet", false, "no line for what was received, only for what was refused")
	fs.BoolVar(&o.withParent, "with-parent", false, "end when the standard input ends")
	fs.BoolVar(&o.verbose, "verbose", false, "log more")
	if err := parse(fs, args); err != nil {
		return o, err
	}
	if o.listen == "" || (o.secretFile == "") == (o.secret == "") {
		return o, usageError{errors.New("receive needs --listen ADDR and one of --secret-file FILE and --secret whsec_…")}
	}
	if o.data == "" {
		o.data = filepath.Join(defaultData(), "receiver")
	}
	return o, nil
}

func newFlags(command string, errs io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet("notebook "+command, flag.ContinueOnError)
	fs.SetOutput(errs)
	return fs
}

func parse(fs *flag.FlagSet, args []string) error {
	out := fs.Output()
	fs.SetOutput(io.Discard) // an error is said once, by run
	err := fs.Parse(args)
	fs.SetOutput(out)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(out, "Usage of %s:\n", fs.Name())
		fs.PrintDefaults()
		return errHelp
	case err != nil:
		return usageError{err}
	case fs.NArg() > 0:
		return usageError{fmt.Errorf("%s takes no arguments, only flags: %q", fs.Name(), fs.Arg(0))}
	}
	return nil
}

// defaultData is the user's state folder. For root it is one that the user postgres may enter as well.
func defaultData() string {
	const name = "postbus/notebook"
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, name)
	}
	home, err := os.UserHomeDir()
	if os.Geteuid() == 0 || err != nil {
		return filepath.Join("/var/lib", name)
	}
	return filepath.Join(home, ".local/state", name)
}
