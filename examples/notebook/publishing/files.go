package publishing

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/postbus/postbus/webhooks"
)

// Files are the key and the secret of one notebook, in a folder of their user's own.
type Files struct{ dir string }

// OpenFiles makes the folder.
func OpenFiles(dir string) (Files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Files{}, fmt.Errorf("the folder of the webhooks: %w: choose another with --data", err)
	}
	return Files{dir}, nil
}

// SecretFile is the file from which the receiver reads what it verifies with.
func (f Files) SecretFile() string { return filepath.Join(f.dir, "secret") }

// Key answers the key that seals secrets, with its id, and makes it at the first call. Of several processes one makes it.
func (f Files) Key() (key, id string, err error) {
	key, _, err = keep(filepath.Join(f.dir, "key"), func() (string, error) {
		return webhooks.NewKey("nb-" + hex.EncodeToString(random(6)))
	})
	id, _, _ = strings.Cut(key, ":")
	return key, id, err
}

// Secret answers the endpoint's signing secret and makes it where it is not there; fresh says that it was made by this call.
func (f Files) Secret() (secret string, fresh bool, err error) {
	return keep(f.SecretFile(), func() (string, error) {
		return "whsec_" + base64.StdEncoding.EncodeToString(random(32)), nil
	})
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return b
}

// keep reads a file, or writes it whole where it is not there. The first of several writers wins.
func keep(path string, produce func() (string, error)) (content string, fresh bool, err error) {
	if content, err = readKept(path); !errors.Is(err, fs.ErrNotExist) {
		return content, false, err
	}
	if content, err = produce(); err != nil {
		return "", false, err
	}
	err = writeOnce(path, content)
	if errors.Is(err, fs.ErrExist) {
		content, err = readKept(path)
		return content, false, err
	}
	return content, err == nil, err
}

func readKept(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the webhooks' file: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// writeOnce fails with fs.ErrExist where the file is there. It is never there in part.
func writeOnce(path, content string) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".new-*") // with the mode 0600
	if err != nil {
		return fmt.Errorf("the webhooks' file: %w", err)
	}
	defer os.Remove(temp.Name())
	_, err = temp.WriteString(content + "\n")
	if err := errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return fmt.Errorf("the webhooks' file: %w", err)
	}
	return os.Link(temp.Name(), path)
}
