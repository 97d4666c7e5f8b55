// Package note keeps notes in Postgres, in a schema of its own.
//
// What it promises: a write is one transaction, and it says nothing to the bus. The row capture on the table does
// (see package indexing), so that a write from anywhere, psql included, is recorded and none can be forgotten. The
// version of a note goes up with every change of its text, in the database.
package note
