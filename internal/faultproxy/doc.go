// Package faultproxy stands between a test and its Postgres and breaks the connection on purpose:
// a real one, in the ways of real networks.
//
//   - BlackHole: nothing arrives any more in either direction and nothing is said about it, as when
//     a firewall forgets a connection. Heal lets through what was held back, as TCP would. Strand does it to the connections there are; new ones
//     work.
//   - Cut: all connections end at once. Refuse: new ones are refused, too.
//   - HalfClose: the client reads the end of its connections, while what it writes still arrives and the answers are lost.
//   - Delay and Drip: everything comes later, or a few bytes at a time.
//   - DropNotifications: the answers to LISTEN never arrive, as behind a pooler that hands a server
//     connection to another client after each transaction.
//
// It reads the protocol of Postgres without TLS; OpenPlain carries any other one.
package faultproxy
