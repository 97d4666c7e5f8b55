// Package instancesql is the SQL of the heartbeats, compiled by sqlc from the .sql files beside the generated code.
package instancesql
