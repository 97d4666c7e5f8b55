package panel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/panel/internal/view"
)

// act makes a call that changes something: every button of the panel comes here. A destructive one is answered with what it would
// do and a button that does it.
func (p *Panel) act(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "an act is made with POST", http.StatusMethodNotAllowed)
		return
	}
	v, ok := p.visitor(w, r)
	if !ok {
		return
	}
	name := v.query.Get("op")
	answer, input, err := p.carryOut(r, v.who, name)
	switch {
	case err != nil:
		told := p.told(r, err)
		p.fragment(w, r, told.Code.Status(), view.Refused(told))
	case answer.DryRun != nil:
		o, _ := p.cfg.Registry.Get(name)
		p.fragment(w, r, http.StatusOK, view.Confirm(name, o.Summary, *answer.DryRun, string(input)))
	case name == "webhooks.delete", name == "mail.delete_rule": // what was on the screen is no more
		room, _, _ := strings.Cut(name, ".")
		w.Header().Set("HX-Redirect", room)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("HX-Trigger", "acted")
		p.fragment(w, r, http.StatusOK, outcome(r, name, answer.Output))
	}
}

// carryOut reads the form and makes the call. A confirmed call brings the very input of its dry run.
func (p *Panel) carryOut(r *http.Request, who ops.Identity, name string) (ops.Answer, json.RawMessage, error) {
	o, ok := p.cfg.Registry.Get(name)
	if !ok {
		return ops.Answer{}, nil, &ops.Error{Code: ops.NotFound, Message: fmt.Sprintf("there is no operation %q", name)}
	}
	if err := r.ParseForm(); err != nil {
		return ops.Answer{}, nil, &ops.Error{Code: ops.TooLarge, Message: fmt.Sprintf("the form cannot be read, or has more than %d bytes", maxForm)}
	}
	input := json.RawMessage(r.PostForm.Get("_input"))
	if len(input) == 0 {
		var err error
		if input, err = inputOf(o.Input, r.PostForm); err != nil {
			return ops.Answer{}, nil, err
		}
	}
	answer, err := p.cfg.Registry.Do(r.Context(), ops.Request{
		Operation: name, Who: who, Face: ops.Panel, Input: input, Confirm: r.PostForm.Get("_confirm"),
	})
	return answer, input, err
}

// fragment writes a piece of a page.
func (p *Panel) fragment(w http.ResponseWriter, r *http.Request, status int, c templ.Component) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if err := c.Render(r.Context(), w); err != nil {
		p.cfg.Log.ErrorContext(r.Context(), "an answer of the panel could not be written", "error", err)
	}
}

// outcome is what the person is told of an act that was done. Secrets are shown this once.
func outcome(r *http.Request, name string, output any) templ.Component {
	switch out := output.(type) {
	case ops.CreatedEndpoint:
		return view.Secret("The endpoint is made", "Signing secret", out.Secret, "The receiver checks signatures with this secret. It is shown this once.")
	case ops.RotatedSecret:
		return view.Secret("The secret is replaced", "New signing secret", out.Secret,
			"It is shown this once. The old one is good until "+view.Moment(out.PreviousEndAt)+": give the receiver the new one by then.")
	case ops.MintedToken:
		return view.Secret("The token is made", "API token", out.Secret, "Programs send it as Authorization: Bearer. It is shown this once.")
	case ops.LoginLink:
		return view.Secret("A link that logs in", "Login link", loginLink(r, out.Token),
			"It logs in once, until "+view.Moment(out.ExpiresAt)+". Whoever has it is in: give it to nobody else. It is shown this once.")
	case ops.BulkAct:
		return view.Begun(words(name)+": it runs in the background", "acts?act_id="+out.ID)
	case ops.Replay:
		return view.Begun("The replay is "+out.State, "replays?replay="+out.ID)
	}
	return view.Done(said(name, output))
}

// said is an outcome in a line.
func said(name string, output any) string {
	switch out := output.(type) {
	case ops.Changed:
		return changed(name, out)
	case ops.ChangedOf:
		return changed(name, out.Changed)
	case ops.Task:
		return fmt.Sprintf("Job %s is %s", out.ID, out.State)
	case ops.Event:
		return fmt.Sprintf("Event %s is %s", out.ID, out.Status)
	case ops.Delivery:
		return fmt.Sprintf("Delivery %s is %s", out.ID, out.State)
	case ops.Mail:
		return fmt.Sprintf("The mail to %s is %s", out.Recipient, out.State)
	case ops.PeriodicRun:
		return "It runs as job " + out.JobID
	}
	return words(name) + ": done"
}

func changed(name string, out ops.Changed) string {
	text := fmt.Sprintf("%s: %d changed", words(name), out.Changed)
	if out.More {
		text += "; there is more"
	}
	return text
}

// loginLink is the address that a token logs in at. Only the browser knows where the panel stands, whatever proxies are before it.
func loginLink(r *http.Request, token string) string {
	to := "login?" + view.Q("link", token).Encode()
	if at, err := url.Parse(r.Header.Get("HX-Current-URL")); err == nil && at.IsAbs() {
		if whole, err := at.Parse(to); err == nil {
			return whole.String()
		}
	}
	return to
}

// words is an operation's name as it is said: "run periodic".
func words(name string) string {
	_, verb, _ := strings.Cut(name, ".")
	verb = strings.ReplaceAll(verb, "_", " ")
	if verb == "" {
		return name
	}
	return strings.ToUpper(verb[:1]) + verb[1:]
}
