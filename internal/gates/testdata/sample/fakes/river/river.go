// Package river stands in for the real one.
package river

// Client is a client.
type Client struct{}
