// Package pgconn stands in for the real one.
package pgconn

type CommandTag struct{}
