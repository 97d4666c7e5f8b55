package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	cdplog "github.com/chromedp/cdproto/log"
)

// pageMayTake bounds every wait.
const pageMayTake = 45 * time.Second

// ErrNone says that there is no Chromium on the machine.
var ErrNone = errors.New("there is no chromium here: install Debian's package chromium")

// Browser is one running Chromium.
type Browser struct {
	ctx  context.Context
	stop func()
}

// Start starts one. It ends with Stop, or with ctx.
func Start(ctx context.Context) (*Browser, error) {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		return nil, ErrNone
	}
	alloc, endAlloc := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("allow-pre-commit-input", true))...) // else what is clicked before the first paint of a page is dropped
	tab, endTab := chromedp.NewContext(alloc)
	b := &Browser{ctx: tab, stop: func() { endTab(); endAlloc() }}
	if err := chromedp.Do(tab, chromedp.Navigate("about:blank")); err != nil {
		b.stop()
		return nil, fmt.Errorf("start chromium: %w", err)
	}
	return b, nil
}

// Stop ends it.
func (b *Browser) Stop() { b.stop() }

// Page is one tab. It shares nothing with other pages: no cookies, no storage. Its methods wait for what they need, at most 45
// seconds; their errors say for what.
type Page struct {
	ctx   context.Context
	close func()

	mu     sync.Mutex
	faults []string
}

// Open opens a page with a profile of its own.
func (b *Browser) Open() (*Page, error) {
	ctx, end := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	p := &Page{ctx: ctx, close: end}
	err := chromedp.Listen(ctx, p.hear)
	if err == nil {
		_, err = chromedp.Call(ctx, cdplog.Enable, struct{}{})
	}
	if err == nil {
		err = p.Set(Look{Width: 1280, Height: 900})
	}
	if err != nil {
		end()
		return nil, fmt.Errorf("open a page: %w", err)
	}
	return p, nil
}

// Close closes it.
func (p *Page) Close() { p.close() }

func (p *Page) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		p.faults = append(p.faults, "exception: "+text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			text, _ := json.Marshal(e.Args)
			p.faults = append(p.faults, fmt.Sprintf("console.%s: %s", e.Type, text))
		}
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == "error" {
			p.faults = append(p.faults, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	}
}

// Faults is what the browser has complained about since the last call.
func (p *Page) Faults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	faults := p.faults
	p.faults = nil
	return faults
}

func (p *Page) do(steps ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(p.ctx, pageMayTake)
	defer cancel()
	return chromedp.Do(ctx, steps...)
}

// Go opens an address and waits until it is loaded.
func (p *Page) Go(url string) error {
	if err := p.do(chromedp.Navigate(url)); err != nil {
		return fmt.Errorf("open %s: %w", url, err)
	}
	return nil
}

// Back and Forward go through the history; Reload loads anew.
func (p *Page) Back() error {
	return p.Run(`history.back()`)
}

// Forward is the way back from Back.
func (p *Page) Forward() error { return p.Run(`history.forward()`) }

// Reload loads the page anew.
func (p *Page) Reload() error { return p.do(chromedp.Reload()) }

// Run runs a script and forgets what it answers.
func (p *Page) Run(script string) error {
	if err := p.do(chromedp.Evaluate[chromedp.Void]("(() => {" + script + "})()")); err != nil {
		return fmt.Errorf("run %s: %w", script, err)
	}
	return nil
}

// Eval answers the value of an expression, which may be a promise.
func Eval[T any](p *Page, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, pageMayTake)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		return value, fmt.Errorf("evaluate %s: %w", expression, err)
	}
	return value, nil
}

// Wait waits until an expression is true.
func (p *Page) Wait(expression string) error {
	ends := time.Now().Add(pageMayTake)
	for {
		ok, err := Eval[bool](p, "!!("+expression+")")
		if ok {
			return nil
		}
		if time.Now().After(ends) {
			text, _ := Eval[string](p, `JSON.stringify(document.documentElement.dataset) + "\n" + document.body.innerText.slice(0, 3000)`)
			return fmt.Errorf("not in %v: %s (%v)\nthe page shows:\n%s", pageMayTake, expression, err, text)
		}
		select {
		case <-p.ctx.Done():
			return p.ctx.Err()
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// Click clicks the first element of a CSS selector that can be seen, as a person does: where it is, on the screen.
func (p *Page) Click(selector string) error {
	for ends := time.Now().Add(pageMayTake); ; {
		err := p.do(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
		if err == nil {
			return nil
		}
		if !strings.Contains(err.Error(), "Could not find node") || time.Now().After(ends) { // else a live page replaced it meanwhile
			return fmt.Errorf("click %s: %w", selector, err)
		}
	}
}

// Type types a text into an element, after what is there.
func (p *Page) Type(selector, text string) error {
	if err := p.do(chromedp.SendKeys(chromedp.CSS(selector), text, chromedp.NodeVisible)); err != nil {
		return fmt.Errorf("type into %s: %w", selector, err)
	}
	return nil
}

// Press presses keys, on whatever has the focus. Enter, Tab and Escape are kb's.
func (p *Page) Press(keys string) error {
	if err := p.do(chromedp.KeyEvent(keys)); err != nil {
		return fmt.Errorf("press %q: %w", keys, err)
	}
	return nil
}

// Keys that have no letter.
const (
	Enter  = kb.Enter
	Tab    = kb.Tab
	Escape = kb.Escape
)

// AllowClipboard lets the page's scripts read the clipboard, and write it as a press of a button does.
func (p *Page) AllowClipboard() error {
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		_, err := chromedp.CallBrowser(p.ctx, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{
			Permission: &cdpbrowser.PermissionDescriptor{Name: name}, Setting: "granted",
			BrowserContextID: chromedp.FromContext(p.ctx).BrowserContextID,
		})
		if err != nil {
			return fmt.Errorf("allow %s: %w", name, err)
		}
	}
	return nil
}

// Look is how a page is looked at.
type Look struct {
	Width, Height int64
	Dark, Phone   bool
}

// Set makes the page look so.
func (p *Page) Set(l Look) error {
	scheme := "light"
	if l.Dark {
		scheme = "dark"
	}
	var options []chromedp.EmulateViewportOption
	if l.Phone {
		options = append(options, chromedp.EmulateMobile)
	}
	return p.do(
		chromedp.EmulateViewport(l.Width, l.Height, options...),
		chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			})
			return err
		}),
	)
}

// Picture is the page as a PNG: what is in the window or, where whole, all of it.
func (p *Page) Picture(whole bool) ([]byte, error) {
	ctx, cancel := context.WithTimeout(p.ctx, pageMayTake)
	defer cancel()
	if whole {
		return chromedp.Run(ctx, chromedp.FullScreenshot(100))
	}
	return chromedp.Run(ctx, chromedp.CaptureScreenshot())
}

// Text is an element's text as it can be seen, without space around it.
func (p *Page) Text(selector string) (string, error) {
	quoted, _ := json.Marshal(selector)
	text, err := Eval[string](p, fmt.Sprintf(`(document.querySelector(%s) ?? {innerText: ""}).innerText`, quoted))
	return strings.TrimSpace(text), err
}
