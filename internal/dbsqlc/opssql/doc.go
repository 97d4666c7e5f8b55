// Package opssql is the SQL of operations, compiled by sqlc: the audit log, tokens, accounts and figures. The .sql files beside
// the generated code are the source; a query that carries a promise says which.
package opssql
