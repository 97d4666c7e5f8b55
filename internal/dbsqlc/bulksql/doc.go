// Package bulksql is the SQL of acts on many jobs, compiled by sqlc. The .sql file beside the generated code is the source; a
// query that carries a promise says which.
package bulksql
