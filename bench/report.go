package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/page"
)

// report is what a run keeps.
type report struct {
	Began   time.Time       `json:"began"`
	Seconds float64         `json:"seconds"`
	Quick   bool            `json:"quick"`
	Pairs   int             `json:"pairs"`
	Machine machine         `json:"machine"`
	Figures []figure.Figure `json:"figures"`
}

// machine is where it ran.
type machine struct {
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	CPU      string `json:"cpu,omitempty"`
	Cores    int    `json:"cores"`
	Load     string `json:"load_before,omitempty"`
	Go       string `json:"go"`
	Postgres string `json:"postgres"`
}

func (b *bench) keep(ctx context.Context, file string, began time.Time) error {
	postgres, err := b.server.Version(ctx)
	if err != nil {
		return fmt.Errorf("ask for the server's version: %w", err)
	}
	r := report{
		Began: began.UTC(), Seconds: time.Since(began).Seconds(), Quick: b.plan.quick, Pairs: b.plan.pairs, Figures: b.figures,
		Machine: machine{
			OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpuModel(), Cores: runtime.NumCPU(), Load: b.load,
			Go: runtime.Version(), Postgres: postgres,
		},
	}
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := os.WriteFile(file, append(raw, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	b.say("%.0f s; values are in %s", r.Seconds, file)
	return nil
}

// cpuModel and loadAverage answer "" where the system does not say.
func cpuModel() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func loadAverage() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(raw))[:3], " ")
}

// writePage writes the page of the values that a run kept.
func writePage(values, file string) error {
	raw, err := os.ReadFile(values)
	if err != nil {
		return fmt.Errorf("read the values: %w", err)
	}
	var r report
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("read the values of %s: %w", values, err)
	}
	m := r.Machine
	return page.Write(page.Run{
		When: r.Began.Format("2 January 2006"), Machine: fmt.Sprintf("%d cores (%s), %s/%s, Postgres %s, %s", m.Cores, m.CPU, m.OS, m.Arch, m.Postgres, m.Go),
		Load: m.Load, Rounds: fullPlan().repeats, Quick: r.Quick, Figures: r.Figures,
	}, file)
}
