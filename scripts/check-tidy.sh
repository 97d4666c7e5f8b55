#!/usr/bin/env bash
# go.mod and go.sum say what the code imports and nothing else, in every module.
. "$(dirname "$0")/lib.sh"
in_modules go mod tidy -diff || { echo "run go mod tidy in the modules named above" >&2; exit 1; }
