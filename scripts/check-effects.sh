#!/usr/bin/env bash
# Side effects stay behind the bus: who may mail and call, who may try again, who has a clock, which tables tell of changes.
. "$(dirname "$0")/lib.sh"
go run ./internal/gates/gate effects retry periodic events
