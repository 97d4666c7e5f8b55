package paneltest

import (
	"fmt"
	"strings"

	"github.com/postbus/postbus/internal/browser"
)

// secret is what the dialog shows this once.
func (s *screen) secret(prefix string) string {
	s.h.t.Helper()
	secret := script[string](s, `document.querySelector("#secret-value").value`)
	if !strings.HasPrefix(secret, prefix) || len(secret) < len(prefix)+16 {
		s.h.t.Fatalf("the secret is %q", secret)
	}
	return secret
}

// copied presses the button and looks what the clipboard has.
func (s *screen) copied(want string) {
	s.h.t.Helper()
	s.h.must(s.AllowClipboard())
	s.click(`dialog [data-do="copy"]`)
	s.shows(`dialog [data-do="copy"]`, "Copied")
	if got := script[string](s, `navigator.clipboard.readText()`); got != want {
		s.h.t.Errorf("the clipboard has %q, want %q", got, want)
	}
}

// closeSecret closes the dialog with Escape: the secret has to be gone from the page, and must not come back.
func (s *screen) closeSecret(secret string) {
	s.h.t.Helper()
	s.press(browser.Escape)
	s.gone("#secret")
	script[any](s, `document.body.dispatchEvent(new CustomEvent("acted", { bubbles: true }))`)
	s.wait(`!document.querySelector(".htmx-request")`)
	if script[bool](s, `document.documentElement.outerHTML.includes(`+quote(secret)+`) || [...document.querySelectorAll("input")].some((i) => i.value === `+quote(secret)+`)`) {
		s.h.t.Error("the secret stays in the page")
	}
}

// nowhere looks at views anew, at what they show and at their source: none has the secret.
func (s *screen) nowhere(secret string, views ...string) {
	s.h.t.Helper()
	for _, view := range views {
		s.goTo(s.h.url + view)
		s.wait(`document.querySelector("#content h1")`)
		if script[bool](s, `fetch(location.href).then((r) => r.text()).then((t) => t.includes(`+quote(secret)+`) || document.documentElement.outerHTML.includes(`+quote(secret)+`))`) {
			s.h.t.Errorf("%s shows the secret again", view)
		}
	}
}

// address is where the page is.
func (s *screen) address() string { s.h.t.Helper(); return script[string](s, `location.href`) }

// refusedWith takes what the browser complains about answers of the status for what it is, and nothing else.
func (s *screen) refusedWith(status int) {
	s.h.t.Helper()
	for _, fault := range s.Faults() {
		if !strings.Contains(fault, fmt.Sprintf("status of %d", status)) {
			s.h.t.Errorf("the browser complains: %s", fault)
		}
	}
}
