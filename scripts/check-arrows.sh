#!/usr/bin/env bash
# Packages import downwards only, River stays in its adapter, and no room pulls what its users are to be spared.
. "$(dirname "$0")/lib.sh"
go run ./internal/gates/gate arrows pulls river
