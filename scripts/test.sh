#!/usr/bin/env bash
# Runs every test of every module with the race detector; go test prints the time of each package. Arguments go to
# go test in place of ./... and TESTFLAGS before them: TESTFLAGS='-run Relay -v' scripts/test.sh ./events
# What the tests log goes to a folder (internal/testdb), which is then searched for secrets.
. "$(dirname "$0")/lib.sh"

race=(-race)
if ! has_cc; then
	echo "############ NO C COMPILER: THE TESTS RUN WITHOUT THE RACE DETECTOR ############" >&2
	race=()
fi
packages=("$@")
dirs=(.)
if [ $# -eq 0 ]; then
	packages=(./...)
	mapfile -t dirs < <(modules)
fi

run_tests() {
	local dir="$1"
	shift
	# shellcheck disable=SC2086 # TESTFLAGS is a list.
	(cd "$dir" && go test "${race[@]}" -count=1 -timeout 15m ${TESTFLAGS:-} "$@")
}

export TEST_LOG_DIR
TEST_LOG_DIR="$(mktemp -d)"
trap 'rm -rf "$TEST_LOG_DIR"' EXIT

failed=()
# The façade's tests kill processes and restart servers: beside another package's they would only wait for each other.
if [ $# -eq 0 ]; then
	echo "== package .: go test ${race[*]} ."
	run_tests . . || failed+=("the façade")
	mapfile -t packages < <(go list ./... | grep -vx "$(go list .)")
fi
for dir in "${dirs[@]}"; do
	start="$(date +%s%N)"
	echo "== module $dir: go test ${race[*]}"
	[ "$dir" = . ] || [ $# -gt 0 ] || packages=(./...)
	run_tests "$dir" "${packages[@]}" || failed+=("$dir")
	echo "== module $dir: $(seconds "$start")"
done
if [ $# -eq 0 ]; then
	scripts/secrets.sh "$TEST_LOG_DIR" || failed+=("the search of their logs for secrets")
fi
if [ ${#failed[@]} -gt 0 ]; then
	echo "tests failed in: ${failed[*]}" >&2
	exit 1
fi
