package faults

import (
	"slices"
)

// Fault is one way in which an adapter could break the contract.
type Fault struct {
	// Name says what is broken.
	Name string
	// Case is the ID of the case that must catch it.
	Case string
	// Says is part of what the case must complain about, so that it fails for the fault and not for something else.
	Says string

	seed func() seed
}

// Faults lists what Run seeds.
func Faults() []Fault {
	return slices.Concat(making(), running(), ending(), looking(), acting(), lasting(), leasing())
}
