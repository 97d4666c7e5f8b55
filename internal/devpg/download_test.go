package devpg

import (
	"archive/zip"
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// repositoryOf serves archives whose binaries do nothing, and counts them.
func repositoryOf(t *testing.T, fetched *atomic.Int32) string {
	t.Helper()
	archive, err := os.ReadFile("testdata/postgres.txz")
	if err != nil {
		t.Fatal(err)
	}
	var jar bytes.Buffer
	writer := zip.NewWriter(&jar)
	entry, err := writer.Create("postgres.txz")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := entry.Write(archive); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ".jar") {
			http.NotFound(w, r)
			return
		}
		fetched.Add(1)
		_, _ = w.Write(jar.Bytes())
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Where the machine has no Postgres one is fetched, once.
func TestDownloadKeepsWhatItFetched(t *testing.T) {
	t.Parallel()
	var fetched atomic.Int32
	from, cache := repositoryOf(t, &fetched), t.TempDir()
	for range 2 {
		bin, err := download(slog.New(slog.DiscardHandler), from, cache)
		if err != nil {
			t.Fatal(err)
		}
		if !complete(bin) {
			t.Errorf("%s has no binaries", bin)
		}
	}
	if fetched.Load() != 1 {
		t.Errorf("fetched %d times, want 1", fetched.Load())
	}
	left, err := filepath.Glob(cache + "/postbus/*")
	if err != nil || len(left) != 1 {
		t.Errorf("left in the cache: %v (%v), want the binaries alone", left, err)
	}
}

func TestDownloadSaysWhatHelpsWhenItFails(t *testing.T) {
	t.Parallel()
	nothing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(nothing.Close)
	_, err := download(slog.New(slog.DiscardHandler), nothing.URL, t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "install Postgres 14 or newer") {
		t.Errorf("error = %v, want one that says what helps", err)
	}
}
