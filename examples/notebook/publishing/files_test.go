package publishing_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/postbus/postbus/examples/notebook/publishing"
)

// Of many processes that begin at once one makes key and secret, and all read the same; nobody else may read them.
func TestKeyAndSecretAreMadeOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "webhooks")
	var mu sync.Mutex
	keys, secrets, fresh := map[string]bool{}, map[string]bool{}, 0
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			files, err := publishing.OpenFiles(dir)
			if err != nil {
				t.Error(err)
			}
			key, id, err := files.Key()
			if err != nil || !strings.HasPrefix(key, id+":") {
				t.Error(id, err)
			}
			secret, made, err := files.Secret()
			if err != nil || !strings.HasPrefix(secret, "whsec_") {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			keys[key], secrets[secret] = true, true
			if made {
				fresh++
			}
		})
	}
	wg.Wait()
	if len(keys) != 1 || len(secrets) != 1 || fresh != 1 {
		t.Errorf("%d keys, %d secrets, made by %d; want 1 each", len(keys), len(secrets), fresh)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%v (%v), want the two files", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v (%v), want 0600", e.Name(), info.Mode(), err)
		}
	}
}
