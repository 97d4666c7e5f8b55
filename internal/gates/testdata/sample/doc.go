// Package postbus is a sample of the tree in which every rule is broken at least once: each "want" comment names the
// rules that are to be red at its line, and no other line may be.
package postbus
