// Package huma stands in for the real one.
package huma

// API is an API.
type API struct{}
