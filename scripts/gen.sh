#!/usr/bin/env bash
# Generates the Go code of the SQL queries (internal/dbsqlc/*), with the sqlc that scripts/sqlc.sh pins, and that of the panel's
# templates, with the templ that scripts/templ.sh pins.
cd "$(dirname "$0")/.." || exit 1
scripts/templ.sh generate && exec scripts/sqlc.sh "${1:-generate}"
