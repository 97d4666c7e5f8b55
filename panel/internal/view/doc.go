// Package view is what the panel's pages look like: templ components over the answers of operations. It asks nothing of anybody
// and decides nothing; what to show is handed in.
package view
