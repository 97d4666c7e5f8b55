// Package page writes docs/performance.md and its charts from the values that a run kept. It measures nothing and rounds nothing away
// that the file does not have: what the page says, a reader can find there.
package page
