package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/postbus/postbus/internal/wait"
)

// message is a webhook as a program for receivers gets it.
type message struct{ secret, id, sent, signature, body string }

func (m message) sign() message {
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(m.id + "." + m.sent + "." + m.body))
	m.signature = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	return m
}

func (m message) at(age time.Duration) message {
	m.sent = strconv.FormatInt(time.Now().Add(-age).Unix(), 10)
	return m
}

func (m message) with(change func(m *message)) message {
	change(&m)
	return m
}

func messageOf(secret string, r request) message {
	return message{
		secret: secret, id: r.header.Get("webhook-id"), sent: r.header.Get("webhook-timestamp"),
		signature: r.header.Get("webhook-signature"), body: string(r.body),
	}
}

const otherSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"

// verifies runs a program for receivers on what arrived, and on what nobody sent.
func (r *reader) verifies(t *testing.T, program, secret string, got request) {
	t.Helper()
	real := messageOf(secret, got)
	cases := []struct {
		name   string
		m      message
		accept bool
	}{
		{"as it came", real, true},
		{"while the secret is rotated", real.with(func(m *message) { m.signature = "v1,AAAA v1a,AAAA " + m.signature }), true},
		{"four minutes old", real.at(4 * time.Minute).sign(), true},
		{"six minutes old", real.at(6 * time.Minute).sign(), false},
		{"six minutes early", real.at(-6 * time.Minute).sign(), false},
		{"another body", real.with(func(m *message) { m.body = strings.Replace(m.body, "1999", "9999", 1) }), false},
		{"another id", real.with(func(m *message) { m.id += "0" }), false},
		{"another time", real.at(time.Minute), false},
		{"another secret", real.with(func(m *message) { m.signature = m.with(func(m *message) { m.secret = otherSecret }).sign().signature }), false},
		{"no signature", real.with(func(m *message) { m.signature = "" }), false},
		{"a version without a signature", real.with(func(m *message) { m.signature = "v1," }), false},
		{"no time", real.with(func(m *message) { m.sent = "" }), false},
		{"no number for a time", real.with(func(m *message) { m.sent = "now" }), false},
	}
	for _, c := range cases {
		if status, says := r.verify(t, program, c.m); says != "" || c.accept != (status == 0) || !c.accept && status != 1 {
			t.Errorf("%s: exit status %d, want accepted: %v; it says %s", c.name, status, c.accept, says)
		}
	}
}

// verify answers the exit status of a program for receivers, and what it prints.
func (r *reader) verify(t *testing.T, program string, m message) (status int, says string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `exec `+program+` "$@"`, "sh", m.id, m.sent, m.signature)
	cmd.Dir, cmd.Env, cmd.Stdin = r.dir, append(r.env, "WEBHOOK_SECRET="+m.secret), strings.NewReader(m.body)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// receives runs the document's receiver and sends it what arrived, and what nobody sent.
func (r *reader) receives(t *testing.T, secret string, got request) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-c", "exec python3 receive.py")
	cmd.Dir, cmd.Env = r.dir, append(r.env, "WEBHOOK_SECRET="+secret, "PORT="+port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	post := func(body []byte) (int, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:"+port+"/", bytes.NewReader(body))
		if err != nil {
			return 0, err
		}
		req.Header = got.header.Clone()
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err
		}
		return res.StatusCode, res.Body.Close()
	}
	wait.Eventually(t, 20*time.Second, func() (bool, string) {
		status, err := post(got.body)
		if err != nil {
			return false, err.Error()
		}
		return status == http.StatusNoContent, strconv.Itoa(status)
	})
	if status, err := post(bytes.Replace(got.body, []byte("1999"), []byte("9999"), 1)); err != nil || status != http.StatusUnauthorized {
		t.Errorf("a forged webhook is answered with %d (%v)", status, err)
	}
}
