package devpg

import (
	"cmp"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// packaged are the places where packages keep the server's binaries.
var packaged = []string{
	"/usr/lib/postgresql/*/bin",                          // Debian, Ubuntu
	"/usr/pgsql-*/bin",                                   // Red Hat, from postgresql.org
	"/usr/libexec/postgresql*",                           // Alpine
	"/opt/homebrew/opt/postgresql@*/bin",                 // macOS, ARM
	"/usr/local/opt/postgresql@*/bin",                    // macOS, Intel
	"/Applications/Postgres.app/Contents/Versions/*/bin", // macOS, Postgres.app
	"/usr/local/pgsql/bin",                               // built from source
}

// findBinaries returns a folder that has postgres and initdb.
func findBinaries(log *slog.Logger) (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil && complete(filepath.Dir(path)) {
			return filepath.Dir(path), nil
		}
	}
	if dirs := packagedBinaries(packaged); len(dirs) > 0 {
		return dirs[0], nil
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	return download(log, repository, cache)
}

// packagedBinaries returns the folders that match and are complete, the newest version first.
func packagedBinaries(patterns []string) []string {
	var dirs []string
	for _, pattern := range patterns {
		matches, _ := filepath.Glob(pattern) // fails only on a bad pattern
		dirs = append(dirs, slices.DeleteFunc(matches, func(dir string) bool { return !complete(dir) })...)
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
	return dirs
}

// version returns the last number in a path: 15 for /usr/lib/postgresql/15/bin, 9.6 for …/9.6/bin.
func version(path string) float64 {
	end := len(path)
	for end > 0 && !digit(path[end-1]) {
		end--
	}
	begin := end
	for begin > 0 && (digit(path[begin-1]) || path[begin-1] == '.') {
		begin--
	}
	number, _ := strconv.ParseFloat(path[begin:end], 64)
	return number
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func complete(dir string) bool {
	for _, name := range []string{"postgres", "initdb"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}
