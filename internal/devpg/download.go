package devpg

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// downloaded is the version that is fetched where the machine has none.
const downloaded = embeddedpostgres.V17

// download returns a folder with binaries, fetched from Maven Central the first time.
//
// The library has no call that only fetches. So its own start is run in a corner: what it fetches
// stays, and whether its server came up does not matter (as root it cannot).
func download(log *slog.Logger) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	root := filepath.Join(cache, "postbus", "postgres-"+string(downloaded))
	bin := filepath.Join(root, "bin")
	if complete(bin) {
		return bin, nil
	}
	corner, err := os.MkdirTemp("", "postbus-download-")
	if err != nil {
		return "", fmt.Errorf("devpg: %w", err)
	}
	defer os.RemoveAll(corner)
	port, err := freePort()
	if err != nil {
		return "", err
	}
	log.InfoContext(context.Background(), "no Postgres on this machine: fetching one", "version", downloaded, "to", root)
	server := embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		Version(downloaded).
		Port(uint32(port)).
		CachePath(filepath.Join(corner, "archive")).
		RuntimePath(filepath.Join(corner, "runtime")).
		BinariesPath(root).
		Logger(io.Discard))
	startErr := server.Start()
	if startErr == nil {
		if err := server.Stop(); err != nil {
			return "", fmt.Errorf("devpg: %w", err)
		}
	}
	if !complete(bin) {
		return "", fmt.Errorf("devpg: no Postgres on PATH or in the usual places, and none could be fetched (%w): "+
			"install Postgres 14 or newer, or give the URL of a running one", startErr)
	}
	return bin, nil
}

// cacheDir is the user's own; root's may be closed to the user that runs the server.
func cacheDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/cache", nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("devpg: %w", err)
	}
	return dir, nil
}
