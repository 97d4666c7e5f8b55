package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/postbus/postbus/examples/notebook/search"
	"github.com/postbus/postbus/internal/loop"
)

// stopWithin is how long requests may go on after the end was asked for.
const stopWithin = 5 * time.Second

// server is an HTTP server that is stopped by whoever started it.
type server struct {
	http   http.Server
	addr   string
	runner loop.Runner
}

func listen(addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w: choose another address with --listen (port 0 takes a free one)", err)
	}
	return ln, nil
}

func serve(ln net.Listener, h http.Handler, log *slog.Logger) *server {
	s := &server{addr: ln.Addr().String()}
	s.http = http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	s.runner.Name, s.runner.Log = "http server", log
	s.runner.Start(context.Background(), func(ctx context.Context) {
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			log.ErrorContext(ctx, "the server ended", "address", s.addr, "error", err)
		}
	})
	return s
}

// stop lets requests end, for a while.
func (s *server) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // what is left is cut off
	}
	s.runner.Stop()
}

// url is the server's address for clients on this machine.
func (s *server) url() string {
	host, port, err := net.SplitHostPort(s.addr)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return "http://" + net.JoinHostPort("127.0.0.1", port)
	}
	return "http://" + s.addr
}

// serveSearch is notebook search: the service alone, until ctx ends.
func serveSearch(ctx context.Context, o searchOptions, out io.Writer, log *slog.Logger) error {
	ln, err := listen(o.listen)
	if err != nil {
		return err
	}
	dir := filepath.Join(o.data, "index")
	index, err := search.Open(dir, log)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	s := serve(ln, search.Handler(index), log)
	fmt.Fprintf(out, "search %s  (%d notes in %s)\n", s.url(), index.Count(), dir)
	<-ctx.Done()
	s.stop()
	return index.Close()
}
