package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/postbus/postbus/internal/testdb"
)

// nobody is the user of the image.
const nobody = 65532

// image lays out what the Dockerfile lays out, with these authorities, and answers how to start a program in it.
func image(t *testing.T, authorities []byte) (root string, attr *syscall.SysProcAttr) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may change the root directory")
	}
	root, err := os.MkdirTemp("", "postbus-image-") // not t.TempDir, which nobody may not enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	program, err := os.ReadFile(released.program(t))
	if err != nil {
		t.Fatal(err)
	}
	certificates := filepath.Join(root, "etc/ssl/certs")
	for _, err := range []error{
		os.Chmod(root, 0o755), os.MkdirAll(certificates, 0o755), os.WriteFile(filepath.Join(root, "postbus"), program, 0o755),
		os.WriteFile(filepath.Join(certificates, "ca-certificates.crt"), authorities, 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return root, &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

// On nothing but its own file and the authorities' certificates, as nobody, the program serves, asks itself how it is, knows
// time zones and checks certificates.
func TestImageServes(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ready")) }))
	defer secure.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	_, attr := image(t, authority)
	s := serving{database: testdb.EmptyURL(t), program: "/postbus", env: []string{"TZ=Asia/Kolkata"}, attr: attr}.start(t)
	s.eventually(t, "/readyz", http.StatusOK, "ready")
	asked := func(env string, args ...string) (string, error) {
		cmd := exec.Command("/postbus", append([]string{"health"}, args...)...)
		cmd.Env, cmd.SysProcAttr = []string{env}, attr
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if says, err := asked("POSTBUS_LISTEN="+strings.Replace(s.url[len("http://"):], "127.0.0.1", "0.0.0.0", 1), "--alive"); err != nil || says != "ok" {
		t.Errorf("health --alive: %s %v", says, err)
	}
	if says, err := asked("", "--server", secure.URL); err != nil || says != "ready" {
		t.Errorf("a server whose certificate an authority of the image signed: %s %v", says, err)
	}
	unknown := httptest.NewUnstartedServer(http.NotFoundHandler())
	unknown.StartTLS()
	defer unknown.Close()
	_, empty := image(t, nil)
	attr = empty
	if says, err := asked("", "--server", unknown.URL); err == nil || !strings.Contains(says, "certificate") {
		t.Errorf("a server that no authority signed: %s %v", says, err)
	}
	s.end(t)
	if !strings.Contains(s.text(), "+05:30 level=INFO msg=listening") {
		t.Errorf("the log has no times of the zone:\n%s", s.text())
	}
}
