// Package mailsql is the SQL of mail, compiled by sqlc: rules, mails and the slots that space them out. The .sql files beside the
// generated code are the source; a query that carries a promise says which.
package mailsql
