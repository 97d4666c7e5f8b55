#!/usr/bin/env bash
# Runs every gate, scripts/check-*.sh, and then shows that each can fail (test-gates.sh). All run, whatever fails; names
# given as arguments narrow it: scripts/check.sh arrows docs.
. "$(dirname "$0")/lib.sh"

gates=(scripts/check-*.sh scripts/test-gates.sh)
[ $# -gt 0 ] && gates=("${@/#/scripts/check-}") && gates=("${gates[@]/%/.sh}")
failed=()
for gate in "${gates[@]}"; do
	name="$(basename "$gate" .sh)"
	start="$(date +%s%N)"
	if "$gate"; then
		printf 'ok    %-18s %s\n' "$name" "$(seconds "$start")"
	else
		printf 'FAIL  %-18s %s\n' "$name" "$(seconds "$start")"
		failed+=("$name")
	fi
done
if [ ${#failed[@]} -gt 0 ]; then
	echo "red: ${failed[*]}" >&2
	exit 1
fi
