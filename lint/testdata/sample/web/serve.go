// Package web serves.
package web

import (
	"net/http"
	post "net/smtp"
	"time"
)

type server struct {
	client *http.Client // want effects
	name   string
}

func (s *server) save(w http.ResponseWriter, r *http.Request) {
	s.tell()
	help()
	_ = post.SendMail("", nil, "", nil, nil) // want effects
}

func (s *server) tell() { _, _ = http.Post("x", "y", nil) } // want effects

func help() { _ = http.DefaultClient } // want effects

func routes(mux *http.ServeMux) {
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = http.Get("x") // want effects
	})
}

// handle is a job's: it may.
func handle() {
	_, _ = http.Get("x")
}

type caller struct{ client *http.Client }

func (c caller) tell() { _, _ = c.client.Get("x") }

func again(do func() error) {
	for {
		if err := do(); err == nil {
			return
		}
		time.Sleep(time.Second) // want retry
	}
}

func wait(ready chan int, do func() error) {
	for range 3 {
		select {
		case <-ready:
		case <-time.After(time.Second): // want retry
		}
		lastErr := do()
		if lastErr != nil {
			continue
		}
	}
}

// watch waits for the world, and tries nothing again.
func watch(done func() bool) {
	for !done() {
		time.Sleep(time.Second)
	}
}
