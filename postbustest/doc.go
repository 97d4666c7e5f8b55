// Package postbustest helps the tests of applications that use the bus: [RequireRecorded] says whether a transaction recorded
// what it should have, [RunUntilIdle] runs a bus inside a test until nothing is left to do, [RequireIdempotent]
// says whether a handler may be handed the same more than once.
//
// The helpers work on real Postgres and look at the real tables; they fake nothing.
package postbustest
