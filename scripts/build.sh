#!/usr/bin/env bash
# Builds the program as it is released: one static file with its version and the time zones in it. Goes to bin/postbus, or to
# the path that is given. The Dockerfile runs this too.
. "$(dirname "$0")/lib.sh"
out="${1:-bin/postbus}"
CGO_ENABLED=0 go build -trimpath -tags timetzdata -ldflags "-s -w -X 'main.stamped=$(scripts/version.sh)'" -o "$out" ./cmd/postbus
