package opscli

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/postbus/postbus/ops"
)

func operation(t *testing.T, name string) *ops.Operation {
	t.Helper()
	for _, o := range registry(t).All() {
		if o.Name == name {
			return o
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

// What a server, or what stands before it, answers becomes an error with its code; nothing is taken for an answer that is none.
func TestServersAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		body   string
		code   ops.Code // "" is an error without one
		says   string
	}{
		{"problem", 404, `{"code":"not_found","detail":"there is no job \"1\""}`, ops.NotFound, `there is no job "1"`},
		{"fields", 422, `{"code":"invalid","detail":"no","errors":[{"field":"id","message":"long"}]}`, ops.Invalid, "no; id: long"},
		{"proxy", 503, `<html>`, ops.Unavailable, "503"},
		{"login page", 200, `<html>`, "", "is it the address of a postbus server?"},
		{"redirect", 302, `{}`, "", "is it the address of a postbus server?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer server.Close()
			client, err := NewClient(server.URL+"/", "secret")
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Call(t.Context(), operation(t, "tasks.get"), []byte(`{}`), "")
			var told *ops.Error
			if is := errors.As(err, &told); is != (c.code != "") || is && told.Code != c.code || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v (%T), want code %q saying %q", err, err, c.code, c.says)
			}
		})
	}
}

// A token is never shown.
func TestTokenIsNotShown(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	client, err := NewClient(server.URL, "s3cret")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = client.Call(t.Context(), operation(t, "tasks.get"), []byte(`{}`), ""); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the error is %v", err)
	}
	if _, err := NewClient("https://u:s3cret@bus.example.com", ""); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("an address with a password: %v", err)
	}
}
