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

// repository is where the archives are: Maven Central, project zonkyio/embedded-postgres-binaries.
const repository = "https://repo1.maven.org/maven2"

// download returns a folder with binaries, fetched from a repository the first time and then kept
// in the folder cache.
//
// The library has no call that only fetches. So its own start is run in a corner: what it fetches
// stays, and whether its server came up does not matter (as root it cannot).
func download(log *slog.Logger, repository, cache string) (string, error) {
	root := filepath.Join(cache, "postbus", "postgres-"+string(downloaded))
	bin := filepath.Join(root, "bin")
	if complete(bin) {
		return bin, nil
	}
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return "", fmt.Errorf("devpg: %w", err)
	}
	corner, err := os.MkdirTemp(filepath.Dir(root), "fetching-")
	if err != nil {
		return "", fmt.Errorf("devpg: %w", err)
	}
	defer os.RemoveAll(corner)
	log.InfoContext(context.Background(), "no Postgres on this machine: fetching one", "version", downloaded, "to", root)
	fetchErr := fetch(repository, corner)
	if complete(filepath.Join(corner, "postgres", "bin")) {
		// In one step, so that nobody finds half of it. Where another process was quicker, its copy is as good.
		if err := os.Rename(filepath.Join(corner, "postgres"), root); err != nil && !complete(bin) {
			return "", fmt.Errorf("devpg: %w", err)
		}
		return bin, nil
	}
	return "", fmt.Errorf("devpg: no Postgres on PATH or in the usual places, and none could be fetched (%w): "+
		"install Postgres 14 or newer, or give the URL of a running one", fetchErr)
}

// fetch puts binaries into the folder postgres of corner. Its error means little: see download.
func fetch(repository, corner string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	server := embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		Version(downloaded).
		Port(uint32(port)).
		CachePath(filepath.Join(corner, "archive")).
		RuntimePath(filepath.Join(corner, "runtime")).
		BinariesPath(filepath.Join(corner, "postgres")).
		BinaryRepositoryURL(repository).
		Logger(io.Discard))
	if err := server.Start(); err != nil {
		return err
	}
	return server.Stop()
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
