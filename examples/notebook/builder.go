package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/postbus/postbus/internal/loop"
)

//go:embed builder/build.mjs builder/package.json builder/package-lock.json
var builderFiles embed.FS

const (
	builderLine = "builder   "
	// installWithin bounds npm, which may have to download.
	installWithin = 3 * time.Minute
)

// openBuilder keeps a builder running, where it may. Without one the site's jobs wait. --once is about index and webhooks, and has none.
func (a *app) openBuilder(context.Context) error {
	if !a.opts.builder || a.opts.once {
		return nil
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			fmt.Fprintf(a.out, "%sthere is no %s here: the site's jobs wait until a process with one joins\n", builderLine, program)
			return nil
		}
	}
	b := &builder{database: a.pool.Config().ConnString(), out: a.out}
	b.runner.Name, b.runner.Log = "builder", a.log
	b.runner.Start(context.Background(), b.run)
	a.onClose(b.runner.Stop)
	return nil
}

// builder keeps the Node program running as a child process, which ends with this one.
type builder struct {
	database string
	out      io.Writer
	runner   loop.Runner
}

func (b *builder) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := b.once(ctx)
		if ctx.Err() != nil {
			return
		}
		fmt.Fprintf(b.out, "%sended (%v), starts again in %s\n", builderLine, err, restartAfter)
		if loop.Sleep(ctx, restartAfter) != nil {
			return
		}
	}
}

// once runs the program until it ends.
func (b *builder) once(ctx context.Context) error {
	folder, err := installBuilder(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "node", "build.mjs")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "DATABASE_URL="+b.database)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * stopWithin
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	alive, err := cmd.StdinPipe() // it closes with this process, however that ends
	if err != nil {
		return err
	}
	defer alive.Close()
	lines, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	for scan := bufio.NewScanner(lines); scan.Scan(); {
		fmt.Fprintln(b.out, scan.Text())
	}
	if err = cmd.Wait(); err == nil {
		err = errors.New("exit status 0")
	}
	return err
}

// installBuilder puts the program and what it needs into the user's cache, once for each version of it, and answers the folder.
func installBuilder(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	names, sum := []string{"build.mjs", "package.json", "package-lock.json"}, sha256.New()
	for _, name := range names {
		raw, err := builderFiles.ReadFile("builder/" + name)
		if err != nil {
			return "", err
		}
		sum.Write(raw)
	}
	folder := filepath.Join(cache, "postbus-notebook", "builder-"+hex.EncodeToString(sum.Sum(nil)[:8]))
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(folder), "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	for _, name := range names {
		raw, _ := builderFiles.ReadFile("builder/" + name) // it was read just now
		if err := os.WriteFile(filepath.Join(fresh, name), raw, 0o644); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, installWithin)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error")
	npm.Dir = fresh
	if out, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w: %.500s", err, out)
	}
	if err := os.Rename(fresh, folder); err != nil {
		if _, there := os.Stat(folder); there == nil {
			return folder, nil // another process was faster
		}
		return "", err
	}
	return folder, nil
}
