// Package eventsql is the SQL of the outbox, compiled by sqlc: events, declarations and captures. The .sql files beside the
// generated code are the source; a query that carries a promise says which.
package eventsql
