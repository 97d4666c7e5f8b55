// Package note keeps notes in Postgres, in a schema of its own.
//
// What it promises: a write is one transaction, and it says nothing to the bus. The row captures on the tables do
// (see packages indexing and publishing), so that a write from anywhere, psql included, is recorded and none can be forgotten.
// The version of a note goes up with every change of its text, in the database. What is published of the notes stands in a
// table of its own that follows them, in the same transaction.
package note
