// Package measuresql is the SQL of what is measured, compiled by sqlc from the .sql files beside the generated code: the counts of
// each minute, and what stands now.
package measuresql
