// Package riversql is the SQL of the River adapter on the queue's tables and ours, compiled by sqlc from the .sql files
// beside the generated code. schema.sql is what River's own migrations make, for the compiler only.
package riversql
