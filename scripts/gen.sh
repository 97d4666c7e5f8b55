#!/usr/bin/env bash
# Generates the Go code of the SQL queries (internal/dbsqlc/*), with the sqlc that scripts/sqlc.sh pins.
cd "$(dirname "$0")/.." || exit 1
exec scripts/sqlc.sh "${1:-generate}"
