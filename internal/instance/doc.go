// Package instance says which processes live. Each keeps one row of postbus.instances fresh; by it the others tell the
// living from the dead.
//
// What it promises:
//
//   - Start returns after the row is there, so that nothing is ever held under a name that nobody knows.
//   - Times are the database's. Who is dead is judged in SQL, by seen_at against the clock of the server.
//   - Steady says for how long the process's own beats have come through without a gap. After an outage everybody's row
//     is old: only an instance that has been steady for as long as death takes may declare others dead.
//   - Stop removes the row: what the instance still holds is free for others at once.
package instance
