// Package panel is clean.
package panel
