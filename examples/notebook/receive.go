package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/postbus/postbus/examples/notebook/receiver"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/webhooks/verify"
)

// receiverLine begins the line in which a receiver says where it is.
const receiverLine = "receiver  "

// receivedFile is what a receiver keeps in its data folder.
const receivedFile = "received.jsonl"

// receive is notebook receive: a receiver of webhooks alone, until ctx ends.
func receive(ctx context.Context, o receiveOptions, out io.Writer, log *slog.Logger) error {
	verifier, err := o.verifier()
	if err != nil {
		return err
	}
	if o.withParent {
		var end func()
		ctx, end = untilInputEnds(ctx, log)
		defer end()
	}
	out = &oneAtATime{out: out}
	file := filepath.Join(o.data, receivedFile)
	r, err := receiver.Open(file, verifier, func(line string) {
		if !o.quiet || !strings.HasPrefix(line, "received") {
			fmt.Fprintln(out, line)
		}
	})
	if err != nil {
		return err
	}
	ln, err := listen(o.listen)
	if err != nil {
		return errors.Join(err, r.Close())
	}
	s := serve(ln, r.Handler(), log)
	fmt.Fprintf(out, "%s%s  (%d messages in %s)\n", receiverLine, s.url(), r.Count(), file)
	<-ctx.Done()
	s.stop()
	return r.Close()
}

// verifier reads the secret. It is never said what is in it.
func (o receiveOptions) verifier() (*verify.Verifier, error) {
	secret := o.secret
	if o.secretFile != "" {
		info, err := os.Stat(o.secretFile)
		if err != nil {
			return nil, fmt.Errorf("--secret-file: %w", err)
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			return nil, fmt.Errorf("--secret-file: others may read %s (its mode is %#o): chmod 600 it", o.secretFile, mode)
		}
		raw, err := os.ReadFile(o.secretFile)
		if err != nil {
			return nil, fmt.Errorf("--secret-file: %w", err)
		}
		secret = strings.TrimSpace(string(raw))
	}
	v, err := verify.New(secret)
	if err != nil {
		return nil, usageError{err}
	}
	return v, nil
}

// untilInputEnds ends with the standard input: a process that holds its other end and dies, however, ends this one with it.
func untilInputEnds(ctx context.Context, log *slog.Logger) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	reader := &loop.Runner{Name: "parent", Log: log}
	reader.Start(context.Background(), func(context.Context) {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	})
	return ctx, cancel // the reader ends with the input or with the process: a read cannot be called back
}

// oneAtATime lets several write lines to one place.
type oneAtATime struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *oneAtATime) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}
