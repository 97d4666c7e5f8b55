package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/postbus/postbus/internal/gates"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("gate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("C", ".", "the folder of the module")
	list := flags.Bool("list", false, "list the rules and end")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *list {
		for _, rule := range gates.Rules() {
			fmt.Fprintf(stdout, "%-11s %s\n", rule.Name, rule.Text)
		}
		return 0
	}
	m, err := gates.Load(*dir)
	if err != nil {
		fmt.Fprintln(stderr, "gate:", err)
		return 2
	}
	found, err := gates.Check(m, flags.Args()...)
	if err != nil {
		fmt.Fprintln(stderr, "gate:", err)
		return 2
	}
	for _, f := range found {
		fmt.Fprintln(stdout, f)
	}
	if len(found) > 0 {
		return 1
	}
	return 0
}
