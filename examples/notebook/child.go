package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/postbus/postbus/internal/loop"
)

const (
	// anyPort is where a receiver listens that has no address yet.
	anyPort = "127.0.0.1:0"
	// restartAfter is how long a receiver that died stays away: long enough to see a delivery fail and come again.
	restartAfter = 3 * time.Second
	// receiverWithin is how long the receiver may take to begin.
	receiverWithin = 30 * time.Second
)

// child keeps a receiver running as a process of its own, which ends with this one.
type child struct {
	args []string // of notebook receive, without --listen
	out  io.Writer

	runner loop.Runner
	ready  chan struct{} // closed when the first one listens
	mu     sync.Mutex
	url    string
	moved  func(ctx context.Context, url string) error
}

// startChild starts the receiver, at the address where it was last if that is still free.
func startChild(last string, args []string, out io.Writer, log *slog.Logger) *child {
	c := &child{args: args, out: out, ready: make(chan struct{})}
	c.runner.Name, c.runner.Log = "receiver", log
	addr := strings.TrimPrefix(last, "http://")
	if !strings.HasPrefix(addr, "127.0.0.1:") {
		addr = anyPort
	}
	c.runner.Start(context.Background(), func(ctx context.Context) { c.run(ctx, addr) })
	return c
}

// stop ends the receiver.
func (c *child) stop() { c.runner.Stop() }

// follow calls moved with the receiver's address, and again whenever that changes.
func (c *child) follow(ctx context.Context, moved func(ctx context.Context, url string) error) error {
	ctx, cancel := context.WithTimeout(ctx, receiverWithin)
	defer cancel()
	select {
	case <-c.ready:
	case <-ctx.Done():
		return errors.Join(errors.New("the receiver does not begin; see above why"), ctx.Err())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved = moved
	return moved(ctx, c.url)
}

func (c *child) run(ctx context.Context, addr string) {
	for {
		url, err := c.once(ctx, addr)
		if ctx.Err() != nil {
			return
		}
		if url == "" && addr != anyPort { // most likely somebody else has the port by now
			addr = anyPort
			continue
		}
		if url != "" {
			addr = strings.TrimPrefix(url, "http://")
		}
		fmt.Fprintf(c.out, "%sended (%v), starts again in %s\n", receiverLine, err, restartAfter)
		if loop.Sleep(ctx, restartAfter) != nil {
			return
		}
	}
}

// once runs the process until it ends, and answers where it listened ("" where it never did).
func (c *child) once(ctx context.Context, addr string) (url string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{"receive", "--with-parent", "--listen", addr}, c.args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * stopWithin
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is this process's to pass on, once the bus has stopped
	alive, err := cmd.StdinPipe()                         // it closes with this process, however that ends
	if err != nil {
		return "", err
	}
	defer alive.Close()
	lines, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return "", err
	}
	for scan := bufio.NewScanner(lines); scan.Scan(); {
		rest, says := strings.CutPrefix(scan.Text(), receiverLine)
		if !says || url != "" {
			fmt.Fprintln(c.out, scan.Text())
			continue
		}
		url, _, _ = strings.Cut(rest, " ")
		c.arrived(ctx, url, cmd.Process.Pid)
	}
	if err = cmd.Wait(); err == nil {
		err = errors.New("exit status 0")
	}
	return url, err
}

// arrived takes note of the address at which a receiver listens now.
func (c *child) arrived(ctx context.Context, url string, pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(c.out, "%s%s  (process %d; %s)\n", receiverLine, url, pid, url+"/received")
	before := c.url
	c.url = url
	if before == "" {
		close(c.ready)
		return
	}
	if before == url || c.moved == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, receiverWithin)
	defer cancel()
	if err := c.moved(ctx, url); err != nil {
		fmt.Fprintf(c.out, "%sits endpoint still has the address %s: %v\n", receiverLine, before, err)
	}
}
