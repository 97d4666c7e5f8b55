#!/usr/bin/env bash
# Generates the Go code of the SQL queries (internal/dbsqlc/*). Needs sqlc v1.31.1:
#   go install github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1
set -euo pipefail
cd "$(dirname "$0")/.."
sqlc="$(command -v sqlc || echo "$(go env GOPATH)/bin/sqlc")"
"$sqlc" "${1:-generate}"
