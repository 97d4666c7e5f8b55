package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/postbus/postbus/internal/browser"
)

func main() {
	log.SetFlags(0)
	var s shooter
	views := flag.String("views", "overview,jobs,periodics,queues,events,webhooks,audit,settings,system", "what to photograph; name=path gives a name")
	flag.StringVar(&s.panel, "panel", "http://127.0.0.1:8899/panel/", "the panel's address, with the slash")
	flag.StringVar(&s.token, "token", "", "API token to log in with")
	flag.StringVar(&s.link, "link", "", "in place of a token: a link that logs in once")
	flag.StringVar(&s.out, "out", ".", "folder for the pictures")
	flag.BoolVar(&s.phone, "phone", true, "as on a phone too")
	flag.Int64Var(&s.wide.Width, "width", 1440, "of the window, in pixels")
	flag.Int64Var(&s.wide.Height, "height", 900, "of the window, in pixels")
	flag.BoolVar(&s.whole, "whole", true, "the whole page, however long, in place of what is in the window")
	flag.Parse()
	if err := s.run(context.Background(), strings.Split(*views, ",")); err != nil {
		log.Fatal("shots: ", err)
	}
}

type shooter struct {
	panel, token, link, out string
	phone, whole            bool
	wide                    browser.Look
	page                    *browser.Page
}

func (s *shooter) run(ctx context.Context, views []string) error {
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return err
	}
	chromium, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	defer chromium.Stop()
	if s.page, err = chromium.Open(); err != nil {
		return err
	}
	if err := s.login(); err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	for _, view := range views {
		name, path, named := strings.Cut(view, "=")
		if !named {
			path = name
		}
		for _, dark := range []bool{false, true} {
			if err := s.both(name, path, dark); err != nil {
				return fmt.Errorf("%s: %w\n%s", name, err, strings.Join(s.page.Faults(), "\n"))
			}
		}
	}
	if faults := s.page.Faults(); len(faults) > 0 {
		return errors.New("the browser complains:\n" + strings.Join(faults, "\n"))
	}
	return nil
}

func (s *shooter) login() error {
	if s.link != "" {
		return errors.Join(s.page.Go(s.link), s.page.Click("#use-link"), s.page.Wait(`document.querySelector("#nav")`))
	}
	return errors.Join(
		s.page.Go(s.panel+"login"), s.page.Run(`document.querySelector("details").open = true`), s.page.Type("#token", s.token+browser.Enter),
		s.page.Wait(`document.querySelector("#nav")`),
	)
}

func (s *shooter) both(name, path string, dark bool) error {
	theme := map[bool]string{false: "light", true: "dark"}[dark]
	if err := s.shoot(path, name+"-"+theme, browser.Look{Width: s.wide.Width, Height: s.wide.Height, Dark: dark}); err != nil || !s.phone {
		return err
	}
	return s.shoot(path, name+"-"+theme+"-phone", browser.Look{Width: 390, Height: 844, Dark: dark, Phone: true})
}

func (s *shooter) shoot(path, name string, look browser.Look) error {
	ready := `document.documentElement.dataset.live === "live" &&
		[...document.querySelectorAll(".plot")].every((plot) => plot.firstChild)`
	if err := errors.Join(s.page.Set(look), s.page.Go(s.panel+path), s.page.Wait(ready)); err != nil {
		return err
	}
	if _, err := browser.Eval[bool](s.page, `new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(true))))`); err != nil {
		return err
	}
	picture, err := s.page.Picture(s.whole)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.out, name+".png"), picture, 0o644)
}
