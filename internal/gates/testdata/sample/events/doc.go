// Package events breaks the rules about calls.
package events
