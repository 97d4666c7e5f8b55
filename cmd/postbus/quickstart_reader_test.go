package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/snippets"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/webhooks"
)

// reader is somebody who follows the document: a folder with its files, a server that runs, a receiver that listens.
type reader struct {
	doc    snippets.Doc
	dir    string
	pool   *pgxpool.Pool
	served *served
	env    []string

	receiver *httptest.Server
	mu       sync.Mutex
	got      []request
}

var firstToken = regexp.MustCompile(`pb_\w+`)

// offline are the words of package managers that reach no network.
var offline = regexp.MustCompile(`ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT|Temporary failure in name resolution|` +
	`Name or service not known|Network is unreachable|Connection refused|Unknown host|Could not resolve host`)

func newReader(t *testing.T, doc snippets.Doc) *reader {
	t.Helper()
	r := &reader{doc: doc, dir: t.TempDir(), pool: testdb.New(t)}
	r.receiver = httptest.NewServer(r)
	t.Cleanup(r.receiver.Close)
	for name, text := range doc.Files() {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(r.dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	key, err := webhooks.NewKey("k1")
	if err != nil {
		t.Fatal(err)
	}
	database := r.pool.Config().ConnString()
	r.served = serve(t, database, "POSTBUS_WEBHOOK_KEYS="+key, "POSTBUS_WEBHOOK_ALLOW=127.0.0.1")
	r.served.eventually(t, "/readyz", http.StatusOK, "ready")
	r.env = append(os.Environ(), "DATABASE_URL="+database, "GEM_HOME="+filepath.Join(r.dir, "gems"),
		"POSTBUS_SERVER="+r.served.url, "POSTBUS_TOKEN="+firstToken.FindString(r.served.text()),
		"PATH="+bin+string(os.PathListSeparator)+programDir(t)+string(os.PathListSeparator)+os.Getenv("PATH"))
	return r
}

// ServeHTTP implements http.Handler: it keeps what arrives.
func (r *reader) ServeHTTP(_ http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body) // what is cut off does not verify
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, request{req.Header.Clone(), body})
}

func (r *reader) arrived() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// shell runs commands in the folder, up to the first that fails, and answers what they print.
func (r *reader) shell(t *testing.T, commands string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-eu", "-c", commands)
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// towardsMe puts the receiver's address in the place of the document's.
func (r *reader) towardsMe(commands string) string {
	return strings.ReplaceAll(commands, "http://127.0.0.1:9911/", r.receiver.URL+"/")
}

// makeEndpoint does so as the document says, and answers the secret.
func (r *reader) makeEndpoint(t *testing.T) string {
	t.Helper()
	out, err := r.shell(t, r.towardsMe(r.doc.Under("2. Make an endpoint", "sh")[0]))
	if err != nil {
		t.Fatalf("make an endpoint: %v\n%s", err, out)
	}
	var made struct{ Secret string }
	if err := json.Unmarshal([]byte(out), &made); err != nil || made.Secret == "" {
		t.Fatalf("no secret (%v) in %s", err, out)
	}
	return made.Secret
}
