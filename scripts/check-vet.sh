#!/usr/bin/env bash
# go vet finds nothing, in any module.
. "$(dirname "$0")/lib.sh"
in_modules go vet ./...
