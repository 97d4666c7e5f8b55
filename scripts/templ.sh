#!/usr/bin/env bash
# Runs the pinned templ in the root of the tree: scripts/templ.sh generate, or check.
. "$(dirname "$0")/lib.sh"
templ=github.com/a-h/templ/cmd/templ@v0.3.1100

case "${1:-generate}" in
generate) go run "$templ" generate -path panel -log-level error ;;
check)
	# Generates into a copy and compares: nothing in the tree changes.
	copy="$(mktemp -d)"
	trap 'rm -rf "$copy"' EXIT
	cp -r panel "$copy/"
	find "$copy" -name '*_templ.go' -delete
	(cd "$copy" && go run "$templ" generate -path panel -log-level error)
	diff -r --brief panel "$copy/panel"
	;;
esac
