// Package peer runs what a user would pick instead of Postbus, and Postbus itself, on the same Postgres under one interface.
//
// Each system is set up as its own documentation says, with the settings that made it fastest here where it leaves a choice; the
// setting is said with the system. What a system promises is not the same everywhere: [Setup.Durable] says whether each subscriber
// has a durable retry of its own, so that one that fails neither holds up the others nor is forgotten.
package peer
