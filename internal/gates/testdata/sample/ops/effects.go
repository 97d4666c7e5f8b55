package ops

import (
	web "net/http"
	_ "net/smtp" // want effects
	"time"
)

var client web.Client // want effects

// header only reads what was sent.
func header(r *web.Request) string { return r.Header.Get("x") }

func save(w web.ResponseWriter, r *web.Request) {
	_, _ = web.Get("x") // want effects
	_ = client
}

func again(do func() error) {
	for {
		if err := do(); err == nil {
			return
		}
		time.Sleep(time.Second) // want clock retry
	}
}
