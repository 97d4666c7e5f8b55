// Package wait lets a test wait for a condition in place of a guess at how long something takes.
//
// Eventually looks at once, then every few milliseconds until the condition holds; at the deadline
// it fails the test with what the condition said it saw last.
package wait
