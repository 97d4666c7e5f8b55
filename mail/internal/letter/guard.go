package letter

import (
	"fmt"
	"text/template/parse"
)

// guard goes over a template's tree, refuses what is not allowed and puts in what bounds it: a tick into every loop, and showName behind
// what is shown.
type guard struct {
	tick, show parse.Node
}

func (g *guard) list(list *parse.ListNode) error {
	if list == nil {
		return nil
	}
	for _, node := range list.Nodes {
		if err := g.node(node); err != nil {
			return err
		}
	}
	return nil
}

func (g *guard) node(node parse.Node) error {
	switch n := node.(type) {
	case *parse.TextNode, *parse.CommentNode, *parse.BreakNode, *parse.ContinueNode:
		return nil
	case *parse.ActionNode:
		if err := g.pipe(n.Pipe); err != nil {
			return err
		}
		if len(n.Pipe.Decl) == 0 {
			n.Pipe.Cmds = append(n.Pipe.Cmds, g.show.Copy().(*parse.CommandNode))
		}
		return nil
	case *parse.IfNode:
		return g.branch(&n.BranchNode)
	case *parse.WithNode:
		return g.branch(&n.BranchNode)
	case *parse.RangeNode:
		if err := g.branch(&n.BranchNode); err != nil {
			return err
		}
		n.List.Nodes = append([]parse.Node{g.tick.Copy()}, n.List.Nodes...)
		return nil
	}
	return fmt.Errorf("%s is not allowed: a template has no parts of its own", node)
}

func (g *guard) branch(n *parse.BranchNode) error {
	if err := g.pipe(n.Pipe); err != nil {
		return err
	}
	if err := g.list(n.List); err != nil {
		return err
	}
	return g.list(n.ElseList)
}

func (g *guard) pipe(pipe *parse.PipeNode) error {
	for _, cmd := range pipe.Cmds {
		for _, arg := range cmd.Args {
			if err := g.arg(arg); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *guard) arg(arg parse.Node) error {
	switch arg := arg.(type) {
	case *parse.IdentifierNode:
		if !allowed[arg.Ident] {
			return fmt.Errorf("the function %q is not allowed; docs/mail.md has those that are", arg.Ident)
		}
	case *parse.PipeNode:
		return g.pipe(arg)
	case *parse.ChainNode:
		return g.arg(arg.Node)
	}
	return nil
}
