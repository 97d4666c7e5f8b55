// Package worksql is the SQL of package work, compiled by sqlc.
package worksql
