#!/usr/bin/env bash
# Every package and every exported identifier says what it is for.
. "$(dirname "$0")/lib.sh"
go run ./internal/gates/gate docgo comments
