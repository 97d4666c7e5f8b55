package paneltest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/postbus/postbus/jobs"
)

// A page of somebody else's that posts an act in the name of who is logged in is refused, though the browser sends the cookie:
// another port of this machine is the same site.
func TestForeignPageCannotAct(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	job := h.failed("work", 1, jobs.Retryable)[0]
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<form method="post" action="%sact?op=tasks.retry"><input name="id" value="%s"><button>Win</button></form>`, h.url, job)
	}))
	t.Cleanup(foreign.Close)
	s := h.open("jobs")
	s.goTo(foreign.URL)
	s.click("button")
	s.wait(`location.href.includes("/panel/act") && document.body.innerText.includes("cross-origin")`)
	s.refusedWith(http.StatusForbidden)
	h.stands(job, jobs.Retryable)
}
