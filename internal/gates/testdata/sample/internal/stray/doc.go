// Package stray has no row in the table of arrows.
package stray // want arrows
