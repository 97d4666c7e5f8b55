#!/usr/bin/env bash
# Files stay small, and migrations are pairs that say why.
. "$(dirname "$0")/lib.sh"
go run ./internal/gates/gate size migrations
