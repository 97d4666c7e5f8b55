// Package webhooksql is the SQL of webhooks, compiled by sqlc: endpoints, deliveries, lanes and attempts. The .sql files
// beside the generated code are the source; a query that carries a promise says which.
package webhooksql
