#!/usr/bin/env bash
# staticcheck finds nothing, in any module; staticcheck.conf says which checks run.
. "$(dirname "$0")/lib.sh"
in_modules go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
