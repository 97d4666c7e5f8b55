#!/usr/bin/env bash
# Runs the one version of sqlc that the generated code is made with. Without cgo it needs no C compiler and builds in a
# third of the time.
. "$(dirname "$0")/lib.sh"
CGO_ENABLED=0 exec go run github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1 "$@"
