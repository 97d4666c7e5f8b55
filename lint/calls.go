package lint

import (
	"go/ast"
	"go/token"
)

// calls holds the rules effects, retry and periodic.
func (t *tree) calls() []Finding {
	var found []Finding
	for _, files := range t.golang {
		found = append(found, served(files)...)
		for _, s := range files {
			found = append(found, s.retries()...)
			found = append(found, s.clocks()...)
		}
	}
	return found
}

// retriers are libraries whose work is to try again; schedulers those that keep a clock of their own, and how they begin.
var (
	retriers = []string{"github.com/cenkalti/backoff", "github.com/cenkalti/backoff/v4", "github.com/cenkalti/backoff/v5",
		"github.com/avast/retry-go", "github.com/avast/retry-go/v4", "github.com/sethvargo/go-retry", "github.com/hashicorp/go-retryablehttp"}
	schedulers = map[string]string{"github.com/robfig/cron": "New", "github.com/robfig/cron/v3": "New",
		"github.com/go-co-op/gocron": "NewScheduler", "github.com/go-co-op/gocron/v2": "NewScheduler"}
)

const retryFix = "let a job's handler return the error: its kind has attempts and a backoff, and the wait survives a restart"

// retries finds loops that wait and look at an error: they try again what failed.
func (s source) retries() []Finding {
	var found []Finding
	for _, lib := range retriers {
		for _, spec := range s.syntax.Imports {
			if p, _ := literal(spec.Path); p == lib {
				found = append(found, s.at(spec, "retry", "retries with "+lib+" are lost in a restart and seen by nobody", retryFix))
			}
		}
	}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		body := loopBody(n)
		if body == nil || !JudgesError(n) {
			return true
		}
		inspectOwn(body, func(n ast.Node) {
			if s.selects(n, "time", "Sleep", "After") {
				found = append(found, s.at(n, "retry", "a loop waits and tries again", retryFix))
			}
		})
		return true
	})
	return found
}

func loopBody(n ast.Node) *ast.BlockStmt {
	switch n := n.(type) {
	case *ast.ForStmt:
		return n.Body
	case *ast.RangeStmt:
		return n.Body
	}
	return nil
}

// JudgesError says whether something is held against nil under a name that errors have.
func JudgesError(loop ast.Node) bool {
	is := false
	ast.Inspect(loop, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && (b.Op == token.NEQ || b.Op == token.EQL) && nameOf(b.Y) == "nil" {
			name := nameOf(b.X)
			is = is || len(name) >= 3 && (name[len(name)-3:] == "err" || name[len(name)-3:] == "Err")
		}
		return !is
	})
	return is
}

// inspectOwn visits what runs in the body itself, not in loops and functions inside it.
func inspectOwn(body *ast.BlockStmt, visit func(ast.Node)) {
	ast.Inspect(body, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok || loopBody(n) != nil {
			return false
		}
		if n != nil {
			visit(n)
		}
		return true
	})
}

const clockFix = "declare a jobs.Periodic: it runs once over all processes, is retried, and shows when it ran"

func (s source) clocks() []Finding {
	var found []Finding
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		if s.selects(n, "time", "NewTicker", "Tick", "AfterFunc") {
			found = append(found, s.at(n, "periodic", "time."+nameOf(n.(*ast.SelectorExpr))+" is a clock of this process's own", clockFix))
		}
		for lib, begin := range schedulers {
			if s.selects(n, lib, begin) {
				found = append(found, s.at(n, "periodic", lib+" is a clock of this process's own", clockFix))
			}
		}
		return true
	})
	return found
}
