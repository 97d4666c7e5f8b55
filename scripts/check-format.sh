#!/usr/bin/env bash
# Go files are formatted as gofmt does.
. "$(dirname "$0")/lib.sh"
unformatted="$(gofmt -l .)"
if [ -n "$unformatted" ]; then
	sed 's/$/:1: format: not as gofmt formats it; run gofmt -w on it/' <<<"$unformatted"
	exit 1
fi
