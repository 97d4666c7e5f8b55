// Command gate runs the rules of package gates, all of them or those named, on the module in a folder:
//
//	go run ./internal/gates/gate [-C folder] [-list] [rule ...]
//
// It prints one line for each finding and ends with 1 when there is one, with 2 when it could not look.
package main
