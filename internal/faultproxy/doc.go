// Package faultproxy stands between a test and its Postgres and breaks the connection on purpose:
// a real one, in the ways of real networks.
//
//   - BlackHole: nothing arrives any more in either direction and nothing is said about it, as when
//     a firewall forgets a connection. Heal lets through what was held back, as TCP would. Strand does it to the connections there are; new ones
//     work.
//   - Cut: all connections end at once. Refuse: new ones are refused, too.
//   - DropNotifications: the answers to LISTEN never arrive, as behind a pooler that hands a server
//     connection to another client after each transaction.
//
// It reads the protocol of Postgres without TLS.
package faultproxy
