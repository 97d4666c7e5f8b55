// Package eventsql has a page of its own beside what is generated.
package eventsql
