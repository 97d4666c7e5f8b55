// Package ops is clean.
package ops
